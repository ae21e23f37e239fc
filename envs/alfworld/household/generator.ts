/**
 * Built-in household games: any number of them, each named by its split and index.
 *
 * Invariants
 * - A game is a function of its id and the settings.
 * - Splits are disjoint: two ids never share a seed.
 * - No game is won before it starts, and every game can be won.
 * - [GOALS-1] With `unseenGoals`, no game of another split asks for what the split `unseen` asks for: an errand with a thing.
 * - Nine things in ten lie where their kind likely lies; the tenth lies anywhere it fits.
 */
import { seedOf } from '../../../identity/identity.ts'
import type { GameSource } from '../../../worlds/text-adventure/game.ts'
import type { Library } from '../../contract/library.ts'
import { Draw, instanceSeed } from '../../generated/draw.ts'
import {
  type GeneratedSplit,
  generatedLibrary,
  generatedSplits,
  heldOut,
} from '../../generated/generated-instances.ts'
import type { Errand, HouseholdSettings, Range } from '../settings.ts'
import { householdDomain } from './domain.ts'
import { householdGrammar } from './grammar.ts'
import { type Goal, type Item, problemText, taskLine, treatmentFor } from './problem.ts'
import {
  type Furniture,
  type FurnitureKind,
  fits,
  furniture,
  furnitureKinds,
  lamp,
  rooms,
  type Thing,
  type ThingKind,
  type Treatment,
  thingKinds,
  things,
} from './words.ts'

// Share of things that lie somewhere unlikely, so that searching the rest of the home pays at times.
const surprise = 0.1

// Share of the other things that are one more of the wanted kind, so that numbers matter.
const another = 0.1

// Share of homes with a lamp that the errand does not need.
const spareLamp = 0.25

// Weight of the first, second and third likely place.
const likelihood = [5, 3, 2] as const

/** The split of the goals that no other split asks for. */
export const unseenSplit = 'unseen'

type Split = GeneratedSplit | typeof unseenSplit

/** Homes that are drawn until one fits an errand whose things are not all left to another split. */
const homesTried = 100

/** The seed of a game; no two games have the same. */
export function gameSeed(split: Split, index: number): number {
  // The games after those of `test`: a fourth split in the list would change every game.
  return split === unseenSplit
    ? instanceSeed(generatedSplits, 'test', heldOut + index)
    : instanceSeed(generatedSplits, split, index)
}

/** The things of an errand that only the split `unseen` asks for, one at least. @param share 0: none */
export function unseenThings(errand: Errand, share: number): ReadonlySet<ThingKind> {
  const treatment = treatmentFor(errand)
  const ranked = thingKinds
    .filter((thing) => canBe(thing, treatment))
    .map((thing) => ({ thing, rank: seedOf(0, 'unseen goals', errand, thing) }))
    .sort((left, right) => left.rank - right.rank)
  return new Set(ranked.slice(0, Math.ceil(share * ranked.length)).map(({ thing }) => thing))
}

/** The index-th game of a split. */
export function generateGame(split: Split, index: number, settings: HouseholdSettings): GameSource {
  const draw = new Draw(gameSeed(split, index))
  const errand = settings.tasks[index % settings.tasks.length] ?? 'place'
  const treatment = treatmentFor(errand)
  const unseen = unseenThings(errand, settings.unseenGoals)
  const asked = thingKinds.filter((thing) => unseen.has(thing) === (split === unseenSplit))

  const { standing, kinds, goal } = chooseHome(draw, errand, { rooms: settings.rooms, asked })
  const elsewhere = errand === 'light' ? kinds : kinds.filter((kind) => kind !== goal.destination)

  // Keep the furniture that the errand needs, and as much of the rest as the range allows.
  const wanted = Array.from({ length: errand === 'two' ? 2 : 1 }, () => placeOf(draw, goal.thing, elsewhere))
  const needed = new Set<FurnitureKind>([goal.destination, ...wanted])
  for (const kind of kinds) {
    const { treatment: does }: Furniture = furniture[kind]
    if (does !== undefined && does === treatment) needed.add(kind)
  }
  const kept = keep(draw, standing, needed, within(draw, settings.receptacles))

  const items: { kind: Item['kind']; place: FurnitureKind }[] = wanted.map((place) => ({
    kind: goal.thing,
    place,
  }))
  const keptKinds = furnitureKinds.filter((kind) => kept.includes(kind))
  if (errand === 'light') items.push({ kind: lamp.name, place: goal.destination })
  else if (draw.chance(spareLamp)) {
    const place = likely(draw, lamp.places, keptKinds)
    if (place !== undefined) items.push({ kind: lamp.name, place })
  }
  const count = within(draw, settings.objects)
  const others = draw.shuffled(thingKinds.filter((kind) => kind !== goal.thing && isAtHome(kind, keptKinds)))
  while (items.length < count) {
    const repeated = draw.chance(another)
    const kind = repeated ? goal.thing : others.pop()
    if (kind === undefined) break
    const allowed = repeated ? keptKinds.filter((place) => elsewhere.includes(place)) : keptKinds
    items.push({ kind, place: placeOf(draw, kind, allowed) })
  }

  const home = {
    furniture: kept,
    goal,
    items: draw.shuffled(items).map(({ kind, place }) => ({ kind, place: draw.one(positions(kept, place)) })),
  }
  const id = `${split}/${index}`
  return {
    id,
    domain: householdDomain,
    grammar: householdGrammar,
    problem: problemText(`${split}_${index}`, home),
    task: taskLine(goal),
    kind: errand,
  }
}

function within(draw: Draw, { min, max }: Range): number {
  return draw.int(min, max)
}

/** One of the likely places that are present, by their weights; undefined where none is. */
function likely(
  draw: Draw,
  places: readonly FurnitureKind[],
  present: readonly FurnitureKind[],
): FurnitureKind | undefined {
  const weights = places.map((place, rank) => (present.includes(place) ? (likelihood[rank] ?? 1) : 0))
  return draw.weighted(places, weights)
}

function positions(standing: readonly FurnitureKind[], kind: FurnitureKind): number[] {
  return standing.flatMap((other, position) => (other === kind ? [position] : []))
}

function isAtHome(thing: ThingKind, kinds: readonly FurnitureKind[]): boolean {
  return things[thing].places.some((place) => kinds.includes(place))
}

function furnish(draw: Draw, range: Range, kitchen: boolean): FurnitureKind[] {
  const others = draw.shuffled(Object.keys(rooms).filter((room) => !kitchen || room !== 'kitchen'))
  const chosen = (kitchen ? ['kitchen', ...others] : others).slice(0, within(draw, range))
  return chosen.flatMap((room) => rooms[room] ?? []).sort()
}

interface ChosenHome {
  readonly standing: readonly FurnitureKind[]
  readonly kinds: readonly FurnitureKind[]
  readonly goal: Goal
}

/** The first drawn home that the errand with one of the asked things fits. */
function chooseHome(
  draw: Draw,
  errand: Errand,
  { rooms, asked }: { readonly rooms: Range; readonly asked: readonly ThingKind[] },
): ChosenHome {
  for (let home = 0; home < homesTried; home++) {
    const standing = furnish(draw, rooms, treatmentFor(errand) !== undefined)
    const kinds = furnitureKinds.filter((kind) => standing.includes(kind))
    const goal = chooseGoal(draw, errand, kinds, asked)
    if (goal !== undefined) return { standing, kinds, goal }
  }
  throw new RangeError(`no errand "${errand}" fits any home with one of ${asked.join(', ')}`)
}

/** A thing and a place that leave it something to do: the thing has a likely place elsewhere. */
function chooseGoal(
  draw: Draw,
  errand: Errand,
  kinds: readonly FurnitureKind[],
  asked: readonly ThingKind[],
): Goal | undefined {
  const treatment = treatmentFor(errand)
  for (const thing of draw.shuffled(thingKinds)) {
    if (!asked.includes(thing) || !canBe(thing, treatment)) continue
    if (errand === 'light') {
      const destination = likely(draw, lamp.places, kinds)
      if (destination !== undefined && isAtHome(thing, kinds)) return { errand, thing, destination }
      continue
    }
    const destinations = kinds.filter((kind) => {
      const { treatment: does }: Furniture = furniture[kind]
      const elsewhere = kinds.filter((other) => other !== kind)
      return fits(thing, kind) && (does === undefined || does !== treatment) && isAtHome(thing, elsewhere)
    })
    if (destinations.length > 0) return { errand, thing, destination: draw.one(destinations) }
  }
  return undefined
}

function canBe(thing: ThingKind, treatment: Treatment | undefined): boolean {
  const { treatments }: Thing = things[thing]
  return treatment === undefined || treatments.includes(treatment)
}

function placeOf(draw: Draw, thing: ThingKind, kinds: readonly FurnitureKind[]): FurnitureKind {
  const place = draw.chance(surprise) ? undefined : likely(draw, things[thing].places, kinds)
  return place ?? draw.one(kinds.filter((kind) => fits(thing, kind)))
}

/** As much furniture as asked for, one of each needed kind among it, in the order of names. */
function keep(
  draw: Draw,
  standing: readonly FurnitureKind[],
  needed: ReadonlySet<FurnitureKind>,
  count: number,
): FurnitureKind[] {
  const rest = draw.shuffled(standing)
  const kept = [...needed].map((kind) => rest.splice(rest.indexOf(kind), 1)[0] ?? kind)
  return [...kept, ...rest.slice(0, Math.max(0, count - kept.length))].sort()
}

/** The generated games of these settings. */
export function openHousehold(settings: HouseholdSettings): Library<GameSource> {
  const others: readonly (typeof unseenSplit)[] = settings.unseenGoals === 0 ? [] : [unseenSplit]
  return generatedLibrary('alfworld', 'game', (split, index) => generateGame(split, index, settings), {
    others,
  })
}
