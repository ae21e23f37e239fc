/**
 * A graph in the process: triples in Oxigraph, and what has been read of them kept as sets.
 *
 * The store is read by quad patterns, an entity's outgoing edges at once, and each entity once: SPARQL over the
 * same store is some forty times slower.
 *
 * Invariants
 * - Entities and values are known by their texts: what was loaded comes back letter by letter.
 * - Text from an agent is looked up, never put into a query.
 * - The graph is not changed after it was opened, so what was read of it stays right.
 */
import type { Store } from 'oxigraph'
import type { Derivation, SetDerivation } from './derivation.ts'
import { isOrderedType, type KnowledgeGraph, type Members, sorted } from './graph.ts'
import { extremes, type Measured, measureOf } from './measure.ts'

/** Subject, relation, object. */
export type Triple = readonly [string, string, string]

type Edges = ReadonlyMap<string, readonly string[]>
type Lookup = (subject: string) => Iterable<readonly [relation: string, object: string]>

const prefix = 'urn:kg:'
// Triples that are written out as text at once: the text of all of a large graph would not fit a string.
const batch = 20_000

/**
 * Loads triples into a store of their own.
 * @param types the type of what a relation leads to, for those that declare it
 */
export async function openEmbeddedGraph(
  triples: readonly Triple[],
  types: ReadonlyMap<string, string> = new Map(),
): Promise<EmbeddedGraph> {
  const { Store, namedNode } = await import('oxigraph')
  const store = new Store()
  const subjects = new Set(triples.map(([subject]) => subject))
  for (let from = 0; from < triples.length; from += batch) {
    const lines = triples
      .slice(from, from + batch)
      .map(([subject, relation, object]) => {
        // A value stays a plain literal: the store would write the integer 007 as 7, and answers are texts.
        const value = !subjects.has(object) && measureOf(object) !== undefined
        return `<${iri(subject)}> <${iri(relation)}> ${value ? `"${object}"` : `<${iri(object)}>`} .\n`
      })
      .join('')
    store.load(lines, { format: 'application/n-triples' })
  }
  const names = new Set(triples.flatMap(([subject, , object]) => [subject, object]))
  return new EmbeddedGraph(
    names,
    types,
    edgesIn(store, (name) => namedNode(iri(name))),
  )
}

function iri(name: string): string {
  return prefix + encodeURIComponent(name)
}

function edgesIn(store: Store, node: (name: string) => Parameters<Store['match']>[0]): Lookup {
  return (subject) =>
    store
      .match(node(subject))
      .map(({ predicate, object }) => [nameOf(predicate.value), nameOf(object.value)] as const)
}

function nameOf(value: string): string {
  return value.startsWith(prefix) ? decodeURIComponent(value.slice(prefix.length)) : value
}

/** An opened graph; its sets can also be had at once, without waiting. */
export class EmbeddedGraph implements KnowledgeGraph {
  readonly #names: ReadonlySet<string>
  readonly #types: ReadonlyMap<string, string>
  readonly #lookup: Lookup
  readonly #edges = new Map<string, Edges>()
  readonly #sets = new WeakMap<Derivation, ReadonlySet<string>>()

  constructor(names: ReadonlySet<string>, types: ReadonlyMap<string, string>, lookup: Lookup) {
    this.#names = names
    this.#types = types
    this.#lookup = lookup
  }

  find(name: string): string | undefined {
    return this.#names.has(name) ? name : undefined
  }

  async relations(set: SetDerivation): Promise<readonly string[]> {
    const found = this.#relationsOf(set)
    return sorted(found).filter((relation) => !isOrderedType(this.#types.get(relation)))
  }

  async attributes(set: SetDerivation): Promise<readonly string[]> {
    const members = this.evaluate(set)
    return sorted(this.#relationsOf(set)).filter((relation) => {
      const type = this.#types.get(relation)
      return type === undefined ? this.#measured(members, relation).length > 0 : isOrderedType(type)
    })
  }

  async members(set: Derivation): Promise<Members> {
    return { values: this.evaluate(set), complete: true }
  }

  async typeOf(relation: string): Promise<string | undefined> {
    return this.#types.get(relation)
  }

  sizeOf(set: Derivation): number {
    return this.evaluate(set).size
  }

  async close(): Promise<void> {}

  /** The members of a set. */
  evaluate(set: Derivation): ReadonlySet<string> {
    const known = this.#sets.get(set)
    if (known !== undefined) return known
    const members = this.#derive(set)
    this.#sets.set(set, members)
    return members
  }

  #derive(set: Derivation): ReadonlySet<string> {
    switch (set.kind) {
      case 'entity':
        return new Set([set.id])
      case 'neighbors': {
        const members = new Set<string>()
        for (const member of this.evaluate(set.of))
          for (const object of this.#edgesOf(member).get(set.relation) ?? []) members.add(object)
        return members
      }
      case 'intersection': {
        const right = this.evaluate(set.right)
        return new Set([...this.evaluate(set.left)].filter((member) => right.has(member)))
      }
      case 'argmax':
      case 'argmin':
        return extremes(this.#measured(this.evaluate(set.of), set.attribute), set.kind)
      case 'count':
        return new Set([String(this.evaluate(set.of).size)])
    }
  }

  #relationsOf(set: SetDerivation): Set<string> {
    const found = new Set<string>()
    for (const member of this.evaluate(set))
      for (const relation of this.#edgesOf(member).keys()) found.add(relation)
    return found
  }

  #measured(members: ReadonlySet<string>, attribute: string): Measured[] {
    const found: Measured[] = []
    for (const member of members)
      for (const value of this.#edgesOf(member).get(attribute) ?? []) {
        const measure = measureOf(value)
        if (measure !== undefined) found.push({ member, measure })
      }
    return found
  }

  #edgesOf(subject: string): Edges {
    const known = this.#edges.get(subject)
    if (known !== undefined) return known
    const byRelation = Map.groupBy(this.#lookup(subject), ([relation]) => relation)
    const edges = new Map(
      [...byRelation].map(([relation, found]) => [relation, found.map(([, object]) => object)]),
    )
    this.#edges.set(subject, edges)
    return edges
  }
}
