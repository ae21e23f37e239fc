/**
 * Derivations as SPARQL 1.1 queries, with the meaning that AgentBench gives them.
 *
 * As there, the entities that a derivation starts from are not among its own members (they may be on the way),
 * texts are those in English or of no language, and the extreme is the value of the extreme member; all who
 * share it are members. The queries say so in standard SPARQL, which Virtuoso reads as well.
 *
 * Invariants
 * - A name becomes part of a query only as an IRI in angle brackets, and only if it has no character that
 *   SPARQL forbids there; no other text of an agent is ever part of a query.
 * - Queries read: each is a SELECT or an ASK.
 */
import { type Derivation, entitiesOf, type SetDerivation } from './derivation.ts'

// The grammar's IRIREF, and no lone half of a surrogate pair, which no encoding could carry.
// biome-ignore lint/suspicious/noControlCharactersInRegex: the grammar names them
const forbidden = /[\u0000-\u0020<>"{}|^`\\]/
/** The longest name that is looked up; identifiers are far shorter. */
export const longestName = 1000

/** True for names that may be in an IRI. */
export function isSafeName(name: string): boolean {
  return name !== '' && name.length <= longestName && name.isWellFormed() && !forbidden.test(name)
}

/** Writes queries over names in one namespace. */
export class QueryWriter {
  readonly #namespace: string

  /** @param namespace what is before every name, e.g. `http://rdf.freebase.com/ns/` */
  constructor(namespace: string) {
    this.#namespace = namespace
  }

  /** `?value`: the members, `limit` at most. */
  members(set: Derivation, limit: number): string {
    if (set.kind === 'count')
      return `SELECT (COUNT(DISTINCT ?x) AS ?value) WHERE { ${this.#members(set.of, new Names())} }`
    return `SELECT DISTINCT (?x AS ?value) WHERE { ${this.#members(set, new Names())} } LIMIT ${limit}`
  }

  /** `?value`: the relations of the namespace that lead from a member. */
  relations(set: SetDerivation, limit: number): string {
    return this.#outgoing(set, '', limit)
  }

  /** `?value`: the same, those with a number or a date at their end. */
  attributes(set: SetDerivation, limit: number): string {
    const dates = ['date', 'dateTime', 'gYear', 'gYearMonth'].map((type) => `<${xsd}${type}>`).join(', ')
    return this.#outgoing(set, ` FILTER (isNumeric(?object) || DATATYPE(?object) IN (${dates}))`, limit)
  }

  /** `?value`: the type of what the relation leads to, by Freebase's schema or RDF's. */
  typeOf(relation: string): string {
    const expected = `${this.#iri(relation)} ${this.#iri('type.property.expected_type')} ?value`
    const range = `${this.#iri(relation)} <http://www.w3.org/2000/01/rdf-schema#range> ?value`
    return `SELECT DISTINCT ?value WHERE { { ${expected} } UNION { ${range} } } ORDER BY ?value LIMIT 1`
  }

  #outgoing(set: SetDerivation, filter: string, limit: number): string {
    const edges =
      set.kind === 'entity'
        ? `${this.#iri(set.id)} ?value ?object .`
        : `{ SELECT DISTINCT ?x WHERE { ${this.#members(set, new Names())} } } ?x ?value ?object .`
    const known = `FILTER (STRSTARTS(STR(?value), "${this.#namespace}"))`
    return `SELECT DISTINCT ?value WHERE { ${edges} ${known}${filter} } LIMIT ${limit}`
  }

  /** A group pattern whose `?x` are the members. */
  #members(set: SetDerivation, names: Names): string {
    const pattern = this.#pattern(set, '?x', names)
    // An extreme carries the filters inside, where the extreme value is found, and AgentBench has them only there.
    return set.kind === 'argmax' || set.kind === 'argmin' ? pattern : `${pattern} ${this.#filters(set, '?x')}`
  }

  #pattern(set: SetDerivation, variable: string, names: Names): string {
    switch (set.kind) {
      case 'entity':
        return `VALUES ${variable} { ${this.#iri(set.id)} }`
      case 'neighbors': {
        if (set.of.kind === 'entity')
          return `${this.#iri(set.of.id)} ${this.#iri(set.relation)} ${variable} .`
        const from = names.next()
        return `${this.#pattern(set.of, from, names)} ${from} ${this.#iri(set.relation)} ${variable} .`
      }
      case 'intersection':
        return `${this.#pattern(set.left, variable, names)} ${this.#pattern(set.right, variable, names)}`
      case 'argmax':
      case 'argmin': {
        const value = names.next()
        const member = names.next()
        const attribute = this.#iri(set.attribute)
        const inner = `${this.#pattern(set.of, member, names)} ${member} ${attribute} ${value} .`
        const order = set.kind === 'argmax' ? `DESC(${value})` : value
        const best = `SELECT ${value} WHERE { ${inner} ${this.#filters(set, member)} } ORDER BY ${order} LIMIT 1`
        return `${this.#pattern(set.of, variable, names)} ${variable} ${attribute} ${value} . { ${best} }`
      }
    }
  }

  #filters(set: SetDerivation, variable: string): string {
    const language = `LANG(${variable}) = "" || LANGMATCHES(LANG(${variable}), "en")`
    return [
      `FILTER (!isLiteral(${variable}) || ${language})`,
      ...entitiesOf(set).map((entity) => `FILTER (${variable} != ${this.#iri(entity)})`),
    ].join(' ')
  }

  /** @throws RangeError for a name that may not be in a query */
  #iri(name: string): string {
    if (!isSafeName(name)) throw new RangeError('a name with characters that no IRI has cannot be queried')
    return `<${this.#namespace}${name}>`
  }
}

const xsd = 'http://www.w3.org/2001/XMLSchema#'

/** Fresh variables of one query. */
class Names {
  #count = 0

  next(): string {
    this.#count += 1
    return `?n${this.#count}`
  }
}
