/**
 * Writes the texts of a game from its grammar and the facts of the moment.
 *
 * Invariants
 * - The first production of a rule whose condition holds is used.
 * - Different placeholders stand for different objects; those of the action played are taken from the start.
 * - Lists come in the order of the objects' ids; what a condition found is not known to the text under it.
 */

import type { FactTable } from './facts.ts'
import { TextAdventureFault } from './fault.ts'
import type { Grammar } from './grammar.ts'
import type { Objects } from './objects.ts'
import type { Pattern, Query, TextSymbol, Value } from './symbol.ts'

/** A placeholder with the object that it names, before those found earlier. */
export interface Finding {
  readonly name: string
  readonly type: string
  readonly object: number
  readonly earlier: Finding | undefined
}

/** A text that calls itself forever is cut here; official texts nest five deep. */
const deepest = 100

export class Narrator {
  readonly #rules: Grammar['rules']
  readonly #objects: Objects
  readonly #names: ReadonlyMap<string, string>
  readonly #narrated: (predicate: string, arity: number) => FactTable
  readonly #tables = new Map<Pattern, FactTable>()

  constructor(
    rules: Grammar['rules'],
    objects: Objects,
    names: ReadonlyMap<string, string>,
    narrated: (predicate: string, arity: number) => FactTable,
  ) {
    this.#rules = rules
    this.#objects = objects
    this.#names = names
    this.#narrated = narrated
  }

  /** @throws TextAdventureFault bad_data where the grammar lacks what the text asks for */
  write(symbols: readonly TextSymbol[], findings: Finding | undefined, depth = 0): string {
    let text = ''
    for (const symbol of symbols) text += this.#symbol(symbol, findings, depth)
    return text
  }

  #symbol(symbol: TextSymbol, findings: Finding | undefined, depth: number): string {
    switch (symbol.kind) {
      case 'text':
        return symbol.text
      case 'rule':
        return this.#rule(symbol.name, findings, depth)
      case 'value':
        return this.#value(symbol.value, findings) ?? 'None'
      case 'each':
        return this.#each(symbol, findings, depth).join('')
      case 'list': {
        const texts = this.#each(symbol.symbol, findings, depth)
        const last = texts.pop()
        if (last === undefined) return this.#rule('list_empty', findings, depth)
        if (texts.length === 0) return last
        const separator = texts.length > 1 ? this.#rule('list_separator', findings, depth) : ''
        return texts.join(separator) + this.#rule('list_last_separator', findings, depth) + last
      }
    }
  }

  #rule(name: string, findings: Finding | undefined, depth: number): string {
    const production = this.#rules
      .get(name)
      ?.find(({ condition }) => condition === undefined || this.#search(condition, 0, findings, () => true))
    if (production === undefined)
      throw new TextAdventureFault('bad_data', `text grammar: no production of "${name}" can be used`)
    if (depth > deepest)
      throw new TextAdventureFault('bad_data', `text grammar: "${name}" calls itself forever`)
    return this.write(production.symbols, findings, depth + 1)
  }

  #each(
    { symbol, given }: TextSymbol & { kind: 'each' },
    findings: Finding | undefined,
    depth: number,
  ): string[] {
    if (given === undefined) return [this.#symbol(symbol, findings, depth)]
    const texts: string[] = []
    this.#search(given, 0, findings, (found) => {
      texts.push(this.#symbol(symbol, found, depth))
      return false
    })
    return texts
  }

  #value(value: Value, findings: Finding | undefined): string | undefined {
    switch (value.kind) {
      case 'text':
        return value.text
      case 'sum':
        return (this.#value(value.left, findings) ?? 'None') + (this.#value(value.right, findings) ?? 'None')
      case 'either':
        return this.#value(value.left, findings) || this.#value(value.right, findings)
      case 'object': {
        let finding = findings
        while (finding !== undefined && finding.name !== value.name) finding = finding.earlier
        if (finding === undefined)
          throw new TextAdventureFault('bad_data', `text grammar: "${value.name}" names no object`)
        return this.#attribute(finding.object, value.attribute)
      }
    }
  }

  #attribute(object: number, attribute: string | undefined): string | undefined {
    const id = this.#objects.id(object)
    switch (attribute) {
      case undefined:
      case 'name':
        return this.#names.get(id) ?? id
      case 'id':
        return id
      case 'type':
        return this.#objects.typeOf(object)
      case 'definite':
        return 'the'
      case 'indefinite':
        return 'a'
      default:
        return undefined
    }
  }

  /** Goes through all findings that a query has, in order, until `visit` says true. */
  #search(
    query: Query,
    at: number,
    findings: Finding | undefined,
    visit: (found: Finding | undefined) => boolean,
  ): boolean {
    const pattern = query[at]
    if (pattern === undefined) return visit(findings)
    const { placeholders } = pattern
    const table = this.#table(pattern)
    let position = -1
    let known = -1
    for (let place = 0; place < placeholders.length && known < 0; place++) {
      const { name, type } = placeholders[place] as Pattern['placeholders'][number]
      known = objectOf(name, type, findings)
      if (known >= 0) position = place
    }
    const keys = position < 0 ? table.all() : table.with(position, known)
    for (const key of keys) {
      const found = this.#match(pattern, table, key, findings)
      if (found !== false && this.#search(query, at + 1, found, visit)) return true
    }
    return false
  }

  #match(
    pattern: Pattern,
    table: FactTable,
    key: number,
    findings: Finding | undefined,
  ): Finding | undefined | false {
    let found = findings
    for (let place = 0; place < pattern.placeholders.length; place++) {
      const { name, type } = pattern.placeholders[place] as Pattern['placeholders'][number]
      const object = table.objectAt(key, place)
      if (this.#objects.members(type)[object] !== 1) return false
      const known = objectOf(name, type, found)
      if (known === object) continue
      if (known >= 0 || standsFor(object, found)) return false
      found = { name, type, object, earlier: found }
    }
    return found
  }

  #table(pattern: Pattern): FactTable {
    let table = this.#tables.get(pattern)
    if (table === undefined) {
      table = this.#narrated(pattern.predicate, pattern.placeholders.length)
      this.#tables.set(pattern, table)
    }
    return table
  }
}

function objectOf(name: string, type: string, findings: Finding | undefined): number {
  for (let finding = findings; finding !== undefined; finding = finding.earlier)
    if (finding.name === name && finding.type === type) return finding.object
  return -1
}

function standsFor(object: number, findings: Finding | undefined): boolean {
  for (let finding = findings; finding !== undefined; finding = finding.earlier)
    if (finding.object === object) return true
  return false
}
