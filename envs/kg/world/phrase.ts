/**
 * How sets of the world graph are said in English.
 *
 * Invariants
 * - Two sets that were found differently are said differently: the words name every relation and entity.
 */
import type { WorldAttribute, WorldRelation } from './world.ts'

/** A set in words. */
export interface Phrase {
  readonly text: string
  /** True where it is one thing. */
  readonly one: boolean
  /** The verb by which its countries are known, if there is one: "border France". */
  readonly verb?: string
}

/** The words for each relation: "the capital of" something, or the countries that "border" something. */
const words: Readonly<Record<WorldRelation, { one: string; several: string } | { verb: string }>> = {
  capital: { one: 'the capital of', several: 'the capitals of' },
  borders: { verb: 'border' },
  language: { one: 'the languages of', several: 'the languages of' },
  currency: { one: 'the currencies of', several: 'the currencies of' },
  subregion: { one: 'the subregion of', several: 'the subregions of' },
  capital_of: { one: 'the country whose capital is', several: 'the countries whose capitals are' },
  spoken_in: { verb: 'speak' },
  used_in: { verb: 'use' },
  countries: { verb: 'lie in' },
  region: { one: 'the region of', several: 'the regions of' },
  subregions: { one: 'the subregions of', several: 'the subregions of' },
}

/** Relations that lead from one thing to one thing. */
const single: readonly WorldRelation[] = ['subregion', 'capital_of', 'region']

/** The greatest and the least of an attribute, after "which". */
const superlatives: Readonly<Record<WorldAttribute, Readonly<Record<'argmax' | 'argmin', string>>>> = {
  area: { argmax: 'has the largest area', argmin: 'has the smallest area' },
  latitude: { argmax: 'lies farthest north', argmin: 'lies farthest south' },
  longitude: { argmax: 'lies farthest east', argmin: 'lies farthest west' },
  land_borders: { argmax: 'borders the most countries', argmin: 'borders the fewest countries' },
}

/** The phrase for the entities that a relation leads to from a set. */
export function following(from: Phrase, relation: WorldRelation): Phrase {
  const word = words[relation]
  if ('verb' in word) return whoDo(`${word.verb} ${from.one ? '' : 'any of '}${from.text}`)
  return {
    text: `${from.one ? word.one : word.several} ${from.text}`,
    one: from.one && single.includes(relation),
  }
}

/** The countries of both sets, undefined where one is not known by what its countries do. */
export function both(left: Phrase, right: Phrase): Phrase | undefined {
  if (left.verb === undefined || right.verb === undefined) return undefined
  return whoDo(`${left.verb} and ${right.verb}`)
}

function whoDo(verb: string): Phrase {
  return { text: `the countries that ${verb}`, one: false, verb }
}

/** The question for a set. */
export function asked({ text, one, verb }: Phrase): string {
  if (verb !== undefined) return `Which countries ${verb}?`
  return `What ${one || text.startsWith('the capital of ') ? 'is' : 'are'} ${text}?`
}

/** The question for how many there are. */
export function counted({ text, verb }: Phrase): string {
  return verb === undefined ? `How many are ${text}?` : `How many countries ${verb}?`
}

/** The question for the extreme. */
export function compared({ text }: Phrase, attribute: WorldAttribute, which: 'argmax' | 'argmin'): string {
  return `Of ${text}, which ${superlatives[attribute][which]}?`
}
