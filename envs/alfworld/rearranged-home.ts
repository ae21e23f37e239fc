/**
 * Rearranged homes: an official game in a home that no file holds.
 *
 * - Objects of a kind trade their ids, hence their names: the contents of `drawer 5` are in `drawer 2`, `mug 1` and `mug 3` trade places.
 * - Some places and things are left out. The errand keeps as many as it needs of the kinds that it names.
 *
 * Source: domain randomization, arXiv 1703.06907.
 *
 * Invariants
 * - [REARRANGED-1] The same draws give the same home.
 * - [REARRANGED-2] The home has everything that the errand needs, each such thing in or on the place where it lay.
 * - [REARRANGED-3] Names are as in official games: objects of a kind are numbered from 1, without gaps.
 * - [ENDLESS-1] An id that the split gives can be opened, and is the same game each time.
 * - Each window of as many instances as `train` has is all of its games.
 * - The other splits are untouched.
 */

import { seedOf } from '../../identity/identity.ts'
import { instanceOrder } from '../../learning/rollout/instance-order.ts'
import {
  type Expression,
  listOf,
  parseExpression,
  type Typed,
  typedNames,
  wordOf,
  writeExpression,
} from '../../worlds/text-adventure/expression.ts'
import type { GameSource } from '../../worlds/text-adventure/game.ts'
import { kindOfId } from '../../worlds/text-adventure/objects.ts'
import type { Library } from '../contract/library.ts'
import { Draw } from '../generated/draw.ts'
import { officialDialect } from './dialect.ts'
import { inEngine } from './engine.ts'

/** A home loses this share of its places and things at most. */
const mostLeftOut = 0.5

/**
 * The game in another home, without its walkthrough, which is of the old one.
 * @throws TextAdventureFault bad_data where its problem cannot be read
 */
export function rearranged({ walkthrough: _, ...source }: GameSource, draw: Draw): GameSource {
  const problem = parseExpression(source.problem, 'PDDL problem')
  const home = homeOf(problem)
  const gone = leftOut(home, neededIn(home, source.task, draw), draw)
  const names = traded(
    home.objects.filter(({ name }) => !gone.has(name)),
    draw,
  )
  const sections = problem.map((section): Expression => {
    if (section[0] === ':objects') return [':objects', ...declared(home.objects, gone)]
    if (section[0] !== ':init' || typeof section === 'string') return section
    return section.filter((fact) => !mentions(fact, gone)).map((fact) => renamed(fact, names))
  })
  return { ...source, problem: writeExpression(sections) }
}

/** The home that a problem describes; ids are those of the problem. */
interface Home {
  readonly objects: readonly Typed[]
  readonly places: readonly string[]
  readonly things: readonly string[]
  /** The holder of each thing: a place or another thing. */
  readonly holders: ReadonlyMap<string, string>
}

function homeOf(problem: readonly Expression[]): Home {
  const partsOf = (tag: string) => problem.flatMap((section) => (section[0] === tag ? section.slice(1) : []))
  const facts = partsOf(':init').map((fact) => listOf(fact, 'PDDL init'))
  const pairsOf = (predicate: string) =>
    facts.flatMap(([name, ...ids]): [string, string][] =>
      name === predicate ? [[wordOf(ids[0], predicate), wordOf(ids[1], predicate)]] : [],
    )
  return {
    objects: typedNames(partsOf(':objects'), 'PDDL objects'),
    places: pairsOf('receptacletype').map(([place]) => place),
    things: pairsOf('objecttype').map(([thing]) => thing),
    holders: new Map([...pairsOf('inreceptacle'), ...pairsOf('inreceptacleobject')]),
  }
}

/** Places and things that are enough for the errand: of each kind it names as many as it needs, drawn. */
function neededIn({ places, things, holders }: Home, task: string, draw: Draw): ReadonlySet<string> {
  const errand = officialDialect.readTask(task)
  // Nothing is known of what it needs.
  if (errand === undefined) return new Set([...places, ...things])
  const ofKind = (ids: readonly string[], kind: string) => ids.filter((id) => kindOfId(id) === kind)
  const lying = (kind: string) =>
    ofKind(things, kind).flatMap((thing) => {
      const place = holders.get(thing)
      return place !== undefined && places.includes(place) ? [{ thing, place }] : []
    })
  const drawn = (found: readonly { readonly thing: string; readonly place: string }[], count: number) =>
    draw.some(found, count).flatMap(({ thing, place }) => [thing, place])

  if (errand.kind === 'light')
    return new Set([...drawn(lying(errand.lamp), 1), ...drawn(lying(errand.thing), 1)])
  const { thing, place, count, treatment } = errand
  const kinds = treatment === undefined ? [place] : [place, officialDialect.appliances[treatment]]
  const elsewhere = lying(thing).filter((found) => kindOfId(found.place) !== place)
  return new Set([
    ...kinds.flatMap((kind) => draw.some(ofKind(places, kind), 1)),
    ...drawn(elsewhere.length < count ? lying(thing) : elsewhere, count),
  ])
}

/** Draws the probability with which each place and thing is left out, and leaves out its contents with it. */
function leftOut(home: Home, needed: ReadonlySet<string>, draw: Draw): ReadonlySet<string> {
  const share = draw.int(0, mostLeftOut * 100) / 100
  const gone = new Set([...home.places, ...home.things].filter((id) => draw.chance(share) && !needed.has(id)))
  for (const thing of home.things) {
    let holder = home.holders.get(thing)
    // No thing is in itself, however the facts are written.
    for (let depth = 0; holder !== undefined && depth < home.things.length; depth++) {
      if (gone.has(holder)) gone.add(thing)
      holder = home.holders.get(holder)
    }
  }
  return gone
}

/** Each object's new id: one of those of its kind. */
function traded(objects: readonly Typed[], draw: Draw): ReadonlyMap<string, string> {
  const byKind = new Map<string, string[]>()
  for (const { name, type } of objects) {
    const kind = kindOfId(name)
    if (kind === undefined || type === 'location') continue
    const alike = byKind.get(`${type} ${kind}`) ?? []
    alike.push(name)
    byKind.set(`${type} ${kind}`, alike)
  }
  return new Map(
    [...byKind.values()].flatMap((alike) => {
      const others = draw.shuffled(alike)
      return alike.map((name, at): [string, string] => [name, others[at] ?? name])
    }),
  )
}

function mentions(fact: Expression, ids: ReadonlySet<string>): boolean {
  return typeof fact === 'string' ? ids.has(fact) : fact.some((part) => mentions(part, ids))
}

function renamed(fact: Expression, names: ReadonlyMap<string, string>): Expression {
  return typeof fact === 'string' ? (names.get(fact) ?? fact) : fact.map((part) => renamed(part, names))
}

function declared(objects: readonly Typed[], gone: ReadonlySet<string>): Expression[] {
  return objects.flatMap(({ name, type }) => (gone.has(name) ? [] : [name, '-', type]))
}

/** The split whose games are rearranged. */
const original = 'train'

/** The split that has them. */
const endless = 'rearranged'

/** Its ids: the game's without its split, and the round. */
const ids = new RegExp(`^${endless}(/.+)/(?:0|-?[1-9]\\d{0,12})$`)

/**
 * The library with a split more, `rearranged`, whose ids are `rearranged/<task>/<trial>/<round>`.
 * @param share of its games that are in another home, from 0 to 1; the others are as in `train`. 0: there is no such split
 */
export function withRearranged(library: Library<GameSource>, share: number): Library<GameSource> {
  const size = library.splits.find(({ name }) => name === original)?.size ?? 0
  if (share === 0 || size === 0) return library
  return {
    ...library,
    splits: [...library.splits, { name: endless, size: Number.POSITIVE_INFINITY }],
    instanceAt(split, index) {
      if (split !== endless) return library.instanceAt(split, index)
      const round = Math.floor(index / size)
      const game = library.instanceAt(original, instanceOrder(size, index - round * size))
      return `${endless}${game.slice(original.length)}/${round}`
    },
    open(instance) {
      const [, game] = ids.exec(instance) ?? []
      if (game === undefined) return library.open(instance)
      const source = { ...library.open(`${original}${game}`), id: instance }
      const draw = new Draw(seedOf(0, instance))
      return draw.chance(share) ? inEngine(() => rearranged(source, draw)) : source
    },
  }
}
