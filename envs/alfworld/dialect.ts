/**
 * Dialects: how a family of household games words tasks, places and contents, and where things likely are.
 *
 * Invariants
 * - A dialect reads observations only; it knows nothing of a game's state.
 * - An observation that it cannot read gives undefined, never an error.
 */

import type { GameSource } from '../../worlds/text-adventure/game.ts'
import { CommandWords, commandWordsOf } from './command-words.ts'
import { furniture, lamp, things } from './household/words.ts'

/** The goal of a task: `count` things of a kind in one place, treated; or a thing held under a lit lamp. */
export type TaskReading =
  | {
      readonly kind: 'place'
      readonly thing: string
      readonly place: string
      readonly count: number
      readonly treatment?: TreatmentVerb
    }
  | { readonly kind: 'light'; readonly thing: string; readonly lamp: string }

/** The verbs of treating commands. */
export type TreatmentVerb = 'clean' | 'heat' | 'cool'

/** The contents of a place, as an observation lists them. */
export type Contents =
  | { readonly closed: true }
  | { readonly closed: false; readonly things: readonly string[] }

export interface Dialect {
  readonly readTask: (observation: string) => TaskReading | undefined
  /** Names of the places, in the order of the first observation. */
  readonly readPlaces: (observation: string) => readonly string[]
  readonly readContents: (observation: string) => Contents | undefined
  /** How commands are worded. */
  readonly words: CommandWords
  /** Kind of place that gives the treatment. */
  readonly appliances: Readonly<Record<TreatmentVerb, string>>
  /** Kinds of places that start closed: looking into one costs a command more. */
  readonly closable: (placeKind: string) => boolean
  /** Kinds of places, the likeliest first. */
  readonly likely: (thingKind: string) => readonly string[]
}

/** The kind of a named thing or place. @example kindOf('mug 2') // 'mug' */
export function kindOf(name: string): string {
  return name.slice(0, name.lastIndexOf(' '))
}

const treatmentWords: Readonly<Record<string, TreatmentVerb>> = {
  clean: 'clean',
  hot: 'heat',
  heat: 'heat',
  cold: 'cool',
  cool: 'cool',
}

/** The names of things and places in a text. @example namesIn('You see a mug 2.') // ['mug 2'] */
export function namesIn(text: string): string[] {
  return text.match(/[a-z]+ \d+/g) ?? []
}

function placeReading(thing: string, place: string, count: number, word: string | undefined): TaskReading {
  const treatment = word === undefined ? undefined : treatmentWords[word]
  return { kind: 'place', thing, place, count, ...(treatment === undefined ? {} : { treatment }) }
}

const commonWords = {
  go: 'go to {r}',
  open: 'open {r}',
  close: 'close {r}',
  examine: 'examine {r}',
  take: 'take {o} from {r}',
  clean: 'clean {o} with {r}',
  heat: 'heat {o} with {r}',
  cool: 'cool {o} with {r}',
  use: 'use {o}',
  look: 'look',
  inventory: 'inventory',
  help: 'help',
}

/** The built-in games. */
export const householdDialect: Dialect = {
  readTask(observation) {
    const light = /look at a (\w+) under a (\w+)/.exec(observation)
    if (light?.[1] !== undefined && light[2] !== undefined)
      return { kind: 'light', thing: light[1], lamp: light[2] }
    const two = /put two (\w+)s (?:in|on) one (\w+)/.exec(observation)
    if (two?.[1] !== undefined && two[2] !== undefined) return placeReading(two[1], two[2], 2, undefined)
    const one = /put a (?:(clean|hot|cold) )?(\w+) (?:in|on) a (\w+)/.exec(observation)
    if (one?.[2] !== undefined && one[3] !== undefined) return placeReading(one[2], one[3], 1, one[1])
    return undefined
  },
  readPlaces: (observation) => namesIn(/You see ([^.]*)\./.exec(observation)?.[1] ?? ''),
  readContents(observation) {
    if (/ is closed\.$/.test(observation)) return { closed: true }
    const listed = /^(?:On|In) [a-z]+ \d+: ([^.]*)\.$/.exec(observation)?.[1]
    return listed === undefined ? undefined : { closed: false, things: namesIn(listed) }
  },
  words: new CommandWords({ ...commonWords, put: 'put {o} at {r}' }),
  appliances: { clean: 'sink', heat: 'stove', cool: 'fridge' },
  closable: (kind) => isKeyOf(furniture, kind) && furniture[kind].closable,
  likely: (kind) => (isKeyOf(things, kind) ? things[kind].places : kind === lamp.name ? lamp.places : []),
}

/** Whether a word is one of a table's. */
export function isKeyOf<Table extends object>(table: Table, key: string): key is keyof Table & string {
  return Object.hasOwn(table, key)
}

// Common places of each kind of thing in the homes that ALFWorld's games are set in, the likeliest first.
const officialPlaces: Readonly<Record<string, string>> = {
  alarmclock: 'desk shelf sidetable dresser diningtable',
  apple: 'countertop fridge diningtable microwave garbagecan sinkbasin',
  baseballbat: 'bed sofa desk',
  basketball: 'bed sofa armchair desk',
  book: 'bed desk countertop drawer dresser diningtable sidetable',
  bowl: 'cabinet countertop fridge diningtable desk shelf sinkbasin microwave coffeetable',
  box: 'diningtable sofa coffeetable shelf sidetable desk cabinet dresser armchair',
  bread: 'countertop diningtable fridge',
  butterknife: 'countertop diningtable drawer sinkbasin',
  candle: 'countertop toilet drawer cabinet shelf sidetable coffeetable',
  cd: 'drawer desk dresser sidetable garbagecan shelf',
  cellphone: 'bed drawer desk dresser sidetable countertop diningtable shelf',
  cloth: 'bathtubbasin cabinet countertop drawer sinkbasin shelf toilet',
  creditcard: 'drawer shelf sidetable desk dresser sofa armchair countertop',
  cup: 'cabinet countertop fridge diningtable sinkbasin microwave shelf',
  desklamp: 'sidetable desk dresser shelf',
  dishsponge: 'countertop cabinet drawer diningtable sinkbasin garbagecan',
  egg: 'fridge countertop sinkbasin garbagecan microwave diningtable',
  floorlamp: 'sidetable desk dresser shelf',
  fork: 'countertop diningtable drawer sinkbasin',
  glassbottle: 'cabinet countertop diningtable sinkbasin fridge garbagecan shelf',
  handtowel: 'handtowelholder countertop',
  houseplant: 'countertop sidetable diningtable shelf coffeetable desk dresser',
  kettle: 'stoveburner countertop cabinet diningtable',
  keychain: 'drawer sidetable shelf desk dresser coffeetable diningtable armchair sofa',
  knife: 'countertop diningtable drawer sinkbasin',
  ladle: 'countertop cabinet drawer diningtable',
  laptop: 'bed desk sofa diningtable coffeetable dresser sidetable armchair',
  lettuce: 'countertop diningtable fridge sinkbasin',
  mug: 'countertop coffeemachine cabinet fridge diningtable microwave desk sinkbasin shelf drawer',
  newspaper: 'sofa coffeetable diningtable sidetable shelf dresser armchair tvstand drawer',
  pan: 'stoveburner countertop cabinet diningtable',
  papertowelroll: 'countertop garbagecan diningtable shelf toilet',
  pen: 'desk drawer dresser sidetable shelf diningtable countertop coffeetable garbagecan',
  pencil: 'drawer desk sidetable shelf dresser diningtable garbagecan countertop',
  peppershaker: 'cabinet countertop diningtable drawer shelf',
  pillow: 'bed sofa armchair',
  plate: 'cabinet countertop diningtable fridge shelf sinkbasin coffeetable',
  pot: 'stoveburner countertop fridge diningtable cabinet',
  potato: 'countertop fridge diningtable sinkbasin microwave garbagecan',
  remotecontrol: 'coffeetable sofa sidetable diningtable drawer armchair dresser tvstand',
  saltshaker: 'countertop cabinet diningtable drawer shelf',
  soapbar: 'countertop toilet sinkbasin bathtubbasin cabinet drawer garbagecan shelf',
  soapbottle: 'countertop cabinet diningtable garbagecan toilet shelf drawer',
  spatula: 'countertop diningtable drawer sinkbasin',
  spoon: 'countertop drawer diningtable sinkbasin',
  spraybottle: 'countertop toilet cabinet garbagecan shelf cart drawer',
  statue: 'shelf coffeetable countertop diningtable sidetable dresser tvstand desk',
  teddybear: 'bed sofa',
  tissuebox: 'shelf coffeetable drawer countertop diningtable sidetable desk tvstand toilet cabinet',
  toiletpaper: 'toilet countertop toiletpaperhanger drawer cabinet garbagecan shelf',
  tomato: 'fridge countertop diningtable garbagecan sinkbasin',
  vase: 'shelf countertop cabinet coffeetable diningtable dresser sidetable tvstand',
  watch: 'drawer coffeetable sidetable diningtable dresser tvstand shelf desk',
  wateringcan: 'coffeetable shelf sidetable',
  winebottle: 'countertop cabinet diningtable garbagecan fridge',
}
const officialClosable: readonly string[] = ['cabinet', 'drawer', 'fridge', 'microwave', 'safe']

/** ALFWorld's own games, as release 0.4.2 has them. */
export const officialDialect: Dialect = {
  readTask(observation) {
    const text = /Your task is to: (.*)/.exec(observation)?.[1] ?? ''
    const light = /(?:look at|examine the) (\w+) (?:under|with) the (\w+)/.exec(text)
    if (light?.[1] !== undefined && light[2] !== undefined)
      return { kind: 'light', thing: light[1], lamp: light[2] }
    const two =
      /put two (\w+) (?:in|on) (\w+)/.exec(text) ?? /find two (\w+) and put them (?:in|on) (\w+)/.exec(text)
    if (two?.[1] !== undefined && two[2] !== undefined) return placeReading(two[1], two[2], 2, undefined)
    const treated =
      /(clean|heat|cool) some (\w+) and put it (?:in|on) (\w+)/.exec(text) ??
      /put a (clean|hot|cool) (\w+) (?:in|on) (\w+)/.exec(text)
    if (treated?.[2] !== undefined && treated[3] !== undefined)
      return placeReading(treated[2], treated[3], 1, treated[1])
    const one = /put (?:a|some) (\w+) (?:in|on) (\w+)/.exec(text)
    if (one?.[1] !== undefined && one[2] !== undefined) return placeReading(one[1], one[2], 1, undefined)
    return undefined
  },
  readPlaces: (observation) => namesIn(/you see (.*)\.$/m.exec(observation)?.[1] ?? ''),
  readContents(observation) {
    if (/ is closed\.$/.test(observation)) return { closed: true }
    const listed = /, you see (.*)\.$/.exec(observation)?.[1]
    return listed === undefined ? undefined : { closed: false, things: namesIn(listed) }
  },
  words: new CommandWords({ ...commonWords, put: 'move {o} to {r}' }),
  appliances: { clean: 'sinkbasin', heat: 'microwave', cool: 'fridge' },
  closable: (kind) => officialClosable.includes(kind),
  likely: (kind) => officialPlaces[kind]?.split(' ') ?? [],
}

/** The dialect of an official game, whose file brings the words of its release. */
export function dialectOf(source: GameSource): Dialect {
  return { ...officialDialect, words: commandWordsOf(source) }
}
