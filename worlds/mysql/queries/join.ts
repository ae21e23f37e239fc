/**
 * The tables of FROM: they pass their rows one after another to what reads them.
 *
 * Invariants
 * - A condition is tested as soon as the rows that it reads are there; behind an outer join, only after it.
 * - An index for an equality only leaves out rows that the condition would refuse.
 */
import type { Budget } from '../budget.ts'
import type { Compiled, Source, VisibleColumn } from '../expressions/scope.ts'
import type { Row, Table } from '../tables/catalog.ts'
import type { Type } from '../values/type.ts'
import { keyOf } from '../values/value.ts'

/** A condition, and the tables whose rows it reads. */
export interface Filter {
  readonly test: () => boolean
  readonly reads: ReadonlySet<Source>
  readonly equality?: readonly [Side, Side] | undefined
}

export interface Side {
  readonly compiled: Compiled
  readonly reads: ReadonlySet<Source>
}

/** Tables, joined or single. */
export interface JoinNode {
  readonly sources: readonly Source[]
  /** Columns of `*`, in their order. */
  readonly visible: readonly VisibleColumn[]
  /** Reads what does not change while the query runs. */
  prepare(): void
  /** Calls back at each row. @returns true once the callback wants no more */
  iterate(visit: () => boolean): boolean
  push(filter: Filter): void
  /** As a row that an outer join did not find. */
  clear(): void
}

interface Lookup {
  readonly own: Compiled
  readonly probe: Compiled
  index: Map<string, Row[]> | undefined
}

export class TableNode implements JoinNode {
  readonly sources: readonly Source[]
  readonly visible: readonly VisibleColumn[]
  readonly source: Source
  /** Set for a table whose rows may be changed. */
  readonly table: Table | undefined
  readonly #read: () => readonly Row[]
  readonly #budget: Budget
  readonly #filters: Filter[] = []
  #rows: readonly Row[] = []
  #lookup: Lookup | undefined

  constructor(source: Source, read: () => readonly Row[], budget: Budget, table?: Table) {
    this.source = source
    this.sources = [source]
    this.table = table
    this.#read = read
    this.#budget = budget
    this.visible = source.columns.map(({ name, type }, place) => ({
      ...{ name, type, sources: [source] },
      compiled: { type, get: () => source.row?.[place] ?? null },
    }))
  }

  prepare(): void {
    const rows = this.#read()
    if (this.#lookup !== undefined && rows !== this.#rows) this.#lookup.index = undefined
    this.#rows = rows
  }

  iterate(visit: () => boolean): boolean {
    for (const row of this.#candidates()) {
      this.#budget.step()
      this.source.row = row
      if (this.#filters.every(({ test }) => test()) && visit()) return true
    }
    return false
  }

  push(filter: Filter): void {
    this.#filters.push(filter)
    const { equality } = filter
    if (equality === undefined) return
    const own = equality.find(({ reads }) => reads.has(this.source))
    // The other side is a column of an outer query: it stays the same while this table is read.
    const outer = equality.find(({ reads }) => reads.size === 0)
    if (own !== undefined && outer !== undefined) this.lookUp(own.compiled, outer.compiled)
  }

  clear(): void {
    this.source.row = null
  }

  /** Uses an equality of an own column with one of tables that come before. */
  lookUp(own: Compiled, probe: Compiled): void {
    if (this.#lookup === undefined && hashable(own.type, probe.type))
      this.#lookup = { own, probe, index: undefined }
  }

  #candidates(): readonly Row[] {
    const lookup = this.#lookup
    if (lookup === undefined) return this.#rows
    lookup.index ??= this.#indexed(lookup.own)
    const value = lookup.probe.get()
    return value === null ? [] : (lookup.index.get(keyOf(value, lookup.probe.type)) ?? [])
  }

  #indexed(own: Compiled): Map<string, Row[]> {
    const index = new Map<string, Row[]>()
    for (const row of this.#rows) {
      this.#budget.step()
      this.source.row = row
      const value = own.get()
      if (value === null) continue
      const key = keyOf(value, own.type)
      const same = index.get(key)
      if (same === undefined) index.set(key, [row])
      else same.push(row)
    }
    return index
  }
}

/** Whether equal values have equal keys. */
function hashable(left: Type, right: Type): boolean {
  const isPlainText = ({ kind, binary, json }: Type) => kind === 'text' && !binary && !json
  return (isPlainText(left) && isPlainText(right)) || (left.kind === 'integer' && right.kind === 'integer')
}

export class PairNode implements JoinNode {
  readonly sources: readonly Source[]
  readonly visible: readonly VisibleColumn[]
  readonly #outer: boolean
  readonly #first: JoinNode
  readonly #second: JoinNode
  readonly #on: Filter[] = []
  readonly #filters: Filter[] = []

  /** @param outer whether rows of the first that find none in the second are kept */
  constructor(first: JoinNode, second: JoinNode, outer: boolean, visible: readonly VisibleColumn[]) {
    this.#first = first
    this.#second = second
    this.#outer = outer
    this.sources = [...first.sources, ...second.sources]
    this.visible = visible
  }

  /** Conditions of ON. */
  on(filters: readonly Filter[]): void {
    for (const filter of filters) {
      if (!this.#outer) this.push(filter)
      else {
        this.#on.push(filter)
        this.#use(filter)
      }
    }
  }

  prepare(): void {
    this.#first.prepare()
    this.#second.prepare()
  }

  iterate(visit: () => boolean): boolean {
    return this.#first.iterate(() => {
      let matched = false
      const stopped = this.#second.iterate(() => {
        if (!this.#on.every(({ test }) => test())) return false
        matched = true
        return this.#visited(visit)
      })
      if (stopped || matched || !this.#outer) return stopped
      this.#second.clear()
      return this.#visited(visit)
    })
  }

  #visited(visit: () => boolean): boolean {
    return this.#filters.every(({ test }) => test()) && visit()
  }

  push(filter: Filter): void {
    const within = (node: JoinNode) => [...filter.reads].every((source) => node.sources.includes(source))
    if (filter.reads.size > 0 && within(this.#first)) this.#first.push(filter)
    else if (filter.reads.size > 0 && !this.#outer && within(this.#second)) this.#second.push(filter)
    else {
      this.#filters.push(filter)
      if (!this.#outer) this.#use(filter)
    }
  }

  /** An index over the second table, for an equality with the first. */
  #use({ equality }: Filter): void {
    const second = this.#second
    if (equality === undefined || !(second instanceof TableNode)) return
    for (const [own, other] of [equality, [equality[1], equality[0]] as const]) {
      const isOwn = own.reads.size === 1 && own.reads.has(second.source)
      const isOther =
        other.reads.size > 0 && [...other.reads].every((source) => this.#first.sources.includes(source))
      if (isOwn && isOther) second.lookUp(own.compiled, other.compiled)
    }
  }

  clear(): void {
    this.#first.clear()
    this.#second.clear()
  }
}

/** SELECT without FROM: one row without columns. */
export class NoTable implements JoinNode {
  readonly sources: readonly Source[] = []
  readonly visible: readonly VisibleColumn[] = []
  readonly #filters: Filter[] = []

  prepare(): void {}

  iterate(visit: () => boolean): boolean {
    return this.#filters.every(({ test }) => test()) && visit()
  }

  push(filter: Filter): void {
    this.#filters.push(filter)
  }

  clear(): void {}
}
