/**
 * Built-in questions over the world graph: any number of them, each named by its split and index.
 *
 * Invariants
 * - A question is a function of its id and the settings.
 * - No question is in two splits: which one it belongs to follows from its words.
 * - The gold calls find the answer, which has at least one member and at most a few dozen.
 * - A comparison is between several with one winner; an intersection leaves out members of both sides.
 * - Two sets that were found differently are said differently: the words name every relation and entity.
 */
import { seedOf, uniforms } from '../../../identity/identity.ts'
import { EnvironmentFault } from '../../contract/environment.ts'
import type { Library } from '../../contract/library.ts'
import { type GeneratedSplit, generatedLibrary } from '../../generated/generated-instances.ts'
import { callsAlong, makesVariable } from '../actions.ts'
import type { Derivation, SetDerivation } from '../graph/derivation.ts'
import { sorted } from '../graph/graph.ts'
import type { Question } from '../library.ts'
import type { KgSettings, QuestionKind } from '../settings.ts'
import type { KgCall } from '../tools.ts'
import {
  oppositeOf,
  type World,
  type WorldAttribute,
  type WorldRelation,
  worldAttributes,
  worldRelations,
} from './world.ts'

// A longer answer says little about whether its question was understood.
const largestAnswer = 50

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

// Nine in ten draws are of another split, and of those of this one most can be asked; far more than it takes.
const draws = 20_000

/** A set with its words and the calls that find it. */
interface Found {
  readonly set: SetDerivation
  readonly phrase: Phrase
  readonly entities: readonly string[]
  readonly calls: readonly KgCall[]
}

type Drawn = { readonly text: string; readonly set: Derivation } & Pick<Found, 'entities' | 'calls'>

/** The split that a question belongs to. */
export function splitOf(text: string): GeneratedSplit {
  const tenth = seedOf(0, text, 'split') % 10
  return tenth === 0 ? 'test' : tenth === 1 ? 'validation' : 'train'
}

/** The index-th question of a split. @throws EnvironmentFault bad_settings where the kinds have none */
export function generateQuestion(
  world: World,
  split: GeneratedSplit,
  index: number,
  { kinds, setHops }: Pick<KgSettings, 'kinds' | 'setHops'>,
): Question {
  const id = `${split}/${index}`
  const kind = kinds[index % kinds.length] ?? 'one_hop'
  const next = uniforms(seedOf(0, 'kg', id))
  const drawer = new Drawer(world, next)
  for (let draw = 0; draw < draws; draw++) {
    const drawn = drawer.draw(kind, setHops)
    if (drawn === undefined || splitOf(drawn.text) !== split) continue
    const answers = world.graph.evaluate(drawn.set)
    if (answers.size === 0 || answers.size > largestAnswer) continue
    const { text, entities, calls: gold } = drawn
    return { id, text, kind, entities: new Map(entities.map((name) => [name, name])), answers, gold }
  }
  throw new EnvironmentFault('bad_settings', `settings of kg: there is no question of the kind ${kind}`)
}

class Drawer {
  readonly #world: World
  readonly #next: () => number

  constructor(world: World, next: () => number) {
    this.#world = world
    this.#next = next
  }

  /** A question of that kind, undefined where what came up cannot be asked. */
  draw(kind: QuestionKind, setHops: 1 | 2): Drawn | undefined {
    switch (kind) {
      case 'one_hop':
      case 'two_hop':
      case 'three_hop': {
        const found = this.#path({ one_hop: 1, two_hop: 2, three_hop: 3 }[kind])
        return found && { ...found, text: asked(found.phrase) }
      }
      case 'intersection': {
        const found = this.#intersection(setHops)
        return found && { ...found, text: asked(found.phrase) }
      }
      case 'argmax':
      case 'argmin':
        return this.#comparison(kind, setHops)
      case 'count': {
        const found = this.#set(setHops)
        // "How many are the capital of France?" asks for nothing.
        if (found === undefined || (found.phrase.verb === undefined && this.#sizeOf(found.set) < 2))
          return undefined
        return {
          text: counted(found.phrase),
          set: { kind: 'count', of: found.set },
          entities: found.entities,
          calls: [...found.calls, { tool: 'count', first: lastOf(found.calls), second: '' }],
        }
      }
    }
  }

  #comparison(kind: 'argmax' | 'argmin', hops: 1 | 2): Drawn | undefined {
    const found = this.#set(hops)
    if (found?.phrase.verb === undefined) return undefined
    const attribute = this.#one(worldAttributes)
    const set = { kind, of: found.set, attribute } as const
    if (this.#sizeOf(found.set) < 2 || this.#sizeOf(set) !== 1) return undefined
    const first = lastOf(found.calls)
    return {
      text: compared(found.phrase, attribute, kind),
      set,
      entities: found.entities,
      calls: [
        ...found.calls,
        { tool: 'get_attributes', first, second: '' },
        { tool: kind, first, second: attribute },
      ],
    }
  }

  /** A set to count or to compare: of one hop, or of two or what two of one hop have in common. */
  #set(hops: 1 | 2): Found | undefined {
    if (hops === 1) return this.#path(1)
    return this.#next() < 0.5 ? this.#path(2) : this.#intersection(1)
  }

  #intersection(hops: 1 | 2): Found | undefined {
    const from = this.#path(hops)
    if (from?.phrase.verb === undefined) return undefined
    const other = this.#pathTo(this.#one([...this.#world.graph.evaluate(from.set)]))
    if (other === undefined) return undefined
    // In the order of their words, so that the same question is not asked in two ways.
    const [left, right] = from.phrase.text < other.phrase.text ? [from, other] : [other, from]
    const phrase = both(left.phrase, right.phrase)
    const set = { kind: 'intersection', left: left.set, right: right.set } as const
    const size = this.#sizeOf(set)
    if (phrase === undefined || size === this.#sizeOf(left.set) || size === this.#sizeOf(right.set))
      return undefined
    const paths = [left, right].map(({ entities: [entity = ''], calls }) => ({
      entity,
      relations: calls.filter(({ tool }) => tool === 'get_neighbors').map(({ second }) => second),
    }))
    return { set, phrase, entities: paths.map(({ entity }) => entity), calls: callsAlong(paths) }
  }

  /** One hop that leads to a country, from what it has to do with. */
  #pathTo(country: string): Found | undefined {
    const relation = this.#one(relationsToCountries)
    const { graph } = this.#world
    const sources = graph.evaluate({
      kind: 'neighbors',
      of: { kind: 'entity', id: country },
      relation: oppositeOf(relation),
    })
    return sources.size === 0 ? undefined : this.#walk(this.#one(sorted(sources)), [relation])
  }

  /** A walk from an entity; undefined where it would go straight back. */
  #path(hops: number): Found | undefined {
    const relations: WorldRelation[] = [this.#one(hops === 1 ? relationNames : startsOfWalks)]
    while (relations.length < hops) {
      const before = relations.at(-1) ?? 'capital'
      const at = worldRelations[before].to
      const onward = relationNames.filter((name) => worldRelations[name].from === at && !back(before, name))
      if (onward.length === 0) return undefined
      relations.push(this.#one(onward))
    }
    return this.#walk(this.#one(this.#world.names[worldRelations[relations[0] ?? 'capital'].from]), relations)
  }

  #walk(entity: string, relations: readonly WorldRelation[]): Found | undefined {
    let set: SetDerivation = { kind: 'entity', id: entity }
    let phrase: Phrase = { text: entity, one: true }
    for (const relation of relations) {
      set = { kind: 'neighbors', of: set, relation }
      phrase = following(phrase, relation)
    }
    if (this.#sizeOf(set) === 0) return undefined
    return { set, phrase, entities: [entity], calls: callsAlong([{ entity, relations }]) }
  }

  #sizeOf(set: Derivation): number {
    return this.#world.graph.sizeOf(set)
  }

  /** @throws RangeError for an empty list */
  #one<Member>(members: readonly Member[]): Member {
    const member = members[Math.floor(this.#next() * members.length)]
    if (member === undefined) throw new RangeError('cannot draw from nothing')
    return member
  }
}

const relationNames = Object.keys(worldRelations) as WorldRelation[]

// There are six regions: walks from them would be the same few questions again and again.
const startsOfWalks = relationNames.filter((name) => name !== 'subregions')

const relationsToCountries = relationNames.filter(
  (name) => worldRelations[name].to === 'country' && name !== 'capital_of',
)

/** True for a relation that leads to where the one before came from, whatever that was. */
function back(before: WorldRelation, name: WorldRelation): boolean {
  const { from, to } = worldRelations[before]
  return worldRelations[name].from === to && worldRelations[name].to === from && from !== to
}

function lastOf(calls: readonly KgCall[]): string {
  return `#${calls.filter(makesVariable).length - 1}`
}

/** The generated questions of these settings. */
export function openGeneratedQuestions(world: World, settings: KgSettings): Library<Question> {
  return generatedLibrary('kg', 'question', (split, index) => generateQuestion(world, split, index, settings))
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
