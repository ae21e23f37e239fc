/**
 * The household's vocabulary: its rooms, its furniture, its things, and where things are likely to be.
 *
 * Invariants
 * - Every name is one lower-case word that starts with a consonant, so "a" fits all; plurals add "s".
 * - Every thing has at least two likely places, and fits into each of them.
 * - Every kind of furniture is in some room.
 * - Likely places are listed from the likeliest down: a player can learn where to look first.
 */

/** The effect of a piece of furniture on a thing. */
export type Treatment = 'clean' | 'hot' | 'cold'

/** A kind of furniture. */
export interface Furniture {
  /** It starts closed, and what it holds is seen only when open. */
  readonly closable: boolean
  readonly treatment?: Treatment
}

/** Kinds of furniture, by name. */
export const furniture = {
  bed: { closable: false },
  chest: { closable: true },
  counter: { closable: false },
  cupboard: { closable: true },
  desk: { closable: false },
  drawer: { closable: true },
  fridge: { closable: true, treatment: 'cold' },
  shelf: { closable: false },
  sink: { closable: false, treatment: 'clean' },
  sofa: { closable: false },
  stove: { closable: false, treatment: 'hot' },
  table: { closable: false },
} as const satisfies Record<string, Furniture>

export type FurnitureKind = keyof typeof furniture

/** The furniture of each room; a kind named twice may be there twice. */
export const rooms: Readonly<Record<string, readonly FurnitureKind[]>> = {
  kitchen: ['fridge', 'sink', 'stove', 'counter', 'cupboard', 'table', 'cupboard', 'drawer'],
  bedroom: ['bed', 'drawer', 'shelf', 'chest', 'drawer'],
  study: ['desk', 'shelf', 'drawer', 'chest', 'shelf'],
  lounge: ['sofa', 'table', 'shelf', 'chest', 'table'],
}

/** A kind of thing. */
export interface Thing {
  /** Likely places, the likeliest first. */
  readonly places: readonly FurnitureKind[]
  /** Treatments that work on it. */
  readonly treatments: readonly Treatment[]
}

const all: readonly Treatment[] = ['clean', 'hot', 'cold']

/** Kinds of things that can be carried, by name. */
export const things = {
  ball: { places: ['chest', 'bed', 'sofa'], treatments: [] },
  book: { places: ['shelf', 'desk', 'bed'], treatments: [] },
  bowl: { places: ['cupboard', 'counter', 'table'], treatments: all },
  bun: { places: ['counter', 'table', 'fridge'], treatments: ['hot', 'cold'] },
  candle: { places: ['shelf', 'table', 'drawer'], treatments: [] },
  card: { places: ['desk', 'drawer', 'table'], treatments: [] },
  carrot: { places: ['fridge', 'counter', 'sink'], treatments: all },
  cloth: { places: ['sink', 'drawer', 'chest'], treatments: ['clean'] },
  coin: { places: ['drawer', 'sofa', 'desk'], treatments: [] },
  cup: { places: ['table', 'cupboard', 'sink'], treatments: all },
  doll: { places: ['bed', 'chest', 'sofa'], treatments: [] },
  fork: { places: ['drawer', 'sink', 'table'], treatments: ['clean'] },
  hat: { places: ['chest', 'shelf', 'bed'], treatments: [] },
  jar: { places: ['shelf', 'cupboard', 'counter'], treatments: ['clean', 'cold'] },
  key: { places: ['drawer', 'desk', 'table'], treatments: [] },
  lemon: { places: ['fridge', 'table', 'counter'], treatments: all },
  mug: { places: ['counter', 'cupboard', 'desk'], treatments: all },
  pan: { places: ['stove', 'cupboard', 'counter'], treatments: all },
  pear: { places: ['table', 'fridge', 'counter'], treatments: all },
  pen: { places: ['desk', 'drawer', 'shelf'], treatments: [] },
  phone: { places: ['bed', 'desk', 'sofa'], treatments: [] },
  pillow: { places: ['bed', 'sofa', 'chest'], treatments: [] },
  plate: { places: ['cupboard', 'table', 'sink'], treatments: all },
  pot: { places: ['stove', 'sink', 'cupboard'], treatments: all },
  soap: { places: ['sink', 'drawer', 'shelf'], treatments: ['clean'] },
  spoon: { places: ['drawer', 'table', 'sink'], treatments: ['clean'] },
  toy: { places: ['sofa', 'bed', 'chest'], treatments: [] },
  vase: { places: ['table', 'shelf', 'desk'], treatments: ['clean'] },
} as const satisfies Record<string, Thing>

export type ThingKind = keyof typeof things

/** The kind that is not carried but switched on; it is placed on open furniture. */
export const lamp = { name: 'lamp', places: ['desk', 'table', 'shelf'] } as const satisfies {
  name: string
  places: readonly FurnitureKind[]
}

const wet: readonly FurnitureKind[] = ['fridge', 'sink', 'stove']

/** Whether a thing may be put there: kitchen appliances take what they treat or usually hold. */
export function fits(thing: ThingKind, place: FurnitureKind): boolean {
  const { places, treatments }: Thing = things[thing]
  if (places.includes(place) || !wet.includes(place)) return true
  const { treatment }: Furniture = furniture[place]
  return treatment !== undefined && treatments.includes(treatment)
}

/** Names of the kinds, in the order in which they are listed above. */
export const furnitureKinds = Object.keys(furniture) as readonly FurnitureKind[]
export const thingKinds = Object.keys(things) as readonly ThingKind[]
