/**
 * The names that an expression may use, and what they stand for.
 *
 * A query's rows pass through its sources one after another: a column reads the row at which its source is. So a
 * query within another one reads the outer query's current row by itself.
 *
 * Invariants
 * - A name means a column of the nearest query that has it.
 * - A query that reads no row of an outer one gives the same rows whenever it is run, and is run once.
 */
import type { Budget } from '../budget.ts'
import { ambiguousColumn, type Clause, refuse, unknownColumn } from '../failure.ts'
import type { Expression, Query } from '../syntax/syntax.ts'
import type { Catalog, Row } from '../tables/catalog.ts'
import type { Type } from '../values/type.ts'
import { isTrue, type Value } from '../values/value.ts'

/** An expression that can be evaluated again and again. */
export interface Compiled {
  readonly type: Type
  readonly get: () => Value
  /** Set where the value is known before the statement runs. */
  readonly constant?: { readonly value: Value }
}

export interface SourceColumn {
  readonly name: string
  readonly type: Type
}

/** A table of FROM, and the row at which it is; null where an outer join found none. */
export interface Source {
  readonly alias: string
  readonly columns: readonly SourceColumn[]
  row: Row | null
}

/** A column of all joined tables together; of several that were joined by name there is one. */
export interface VisibleColumn extends SourceColumn {
  readonly compiled: Compiled
  readonly sources: readonly Source[]
}

export interface CompiledQuery {
  readonly columns: readonly SourceColumn[]
  /** Whether it reads rows of an outer query. */
  readonly correlated: () => boolean
  readonly run: () => readonly Row[]
}

/** Shared by all expressions of a statement. */
export interface Context {
  readonly budget: Budget
  readonly catalog: Catalog
  /** User variables, by their names in lower case. */
  readonly variables: Map<string, { readonly value: Value; readonly type: Type }>
  readonly session: SessionFacts
  readonly random: () => number
  compile(expression: Expression, scope: Scope): Compiled
  query(query: Query, outer: Scope): CompiledQuery
}

/** Facts of the session that functions tell. */
export interface SessionFacts {
  readonly lastInsertId: bigint
  readonly rowCount: bigint
  readonly autocommit: boolean
}

/** Compiles a call of an aggregate or window function where one may be. */
export type CallCompiler = (call: Expression & { readonly kind: 'call' }, scope: Scope) => Compiled

export interface ScopeOptions {
  readonly context: Context
  readonly outer?: Scope | undefined
  readonly commonTables?: ReadonlyMap<string, CommonTableSource>
}

/** A common table, compiled where it is used. */
export interface CommonTableSource {
  source(scope: Scope): CompiledQuery
}

export class Scope {
  readonly context: Context
  readonly outer: Scope | undefined
  readonly commonTables: ReadonlyMap<string, CommonTableSource>
  sources: Source[] = []
  visible: VisibleColumn[] = []
  clause: Clause = 'field list'
  /** Aliases of the select list, where the clause may use them. */
  aliases: ReadonlyMap<string, Compiled> | undefined
  /** Whether aliases win against columns. */
  aliasesFirst = false
  aggregate: CallCompiler | undefined
  window: CallCompiler | undefined
  /** Replaces an expression: a group's key is NULL in a row of WITH ROLLUP. */
  substitute: ((expression: Expression) => Compiled | undefined) | undefined
  /** Holds the row that would be inserted, for VALUES(). */
  newRow: Source | undefined
  /** Sources that were read, of this query or an outer one, since it was set. */
  reads: Set<Source> | undefined
  readsOuter = false

  constructor({ context, outer, commonTables }: ScopeOptions) {
    this.context = context
    this.outer = outer
    this.commonTables = commonTables ?? outer?.commonTables ?? new Map()
  }

  compile(expression: Expression): Compiled {
    return this.substitute?.(expression) ?? this.context.compile(expression, this)
  }

  /** In another clause, whose name is in messages. */
  within<T>(clause: Clause, work: () => T): T {
    const before = this.clause
    this.clause = clause
    try {
      return work()
    } finally {
      this.clause = before
    }
  }

  /** @throws StatementRefused where no query has the column, or one has two */
  column(table: string | undefined, name: string): Compiled {
    for (let scope: Scope | undefined = this; scope !== undefined; scope = scope.outer) {
      const found = scope.#own(table, name)
      if (found !== undefined) return found
      scope.readsOuter = true
    }
    return refuse(unknownColumn(table === undefined ? name : `${table}.${name}`, this.clause))
  }

  #own(table: string | undefined, name: string): Compiled | undefined {
    if (table !== undefined) return this.#qualified(table, name)
    const lower = name.toLowerCase()
    if (this.aliasesFirst) {
      const alias = this.aliases?.get(lower)
      if (alias !== undefined) return alias
    }
    const found = this.visible.filter((column) => column.name.toLowerCase() === lower)
    if (found.length > 1) refuse(ambiguousColumn(name, this.clause))
    for (const source of found[0]?.sources ?? []) this.reads?.add(source)
    return found[0]?.compiled ?? this.aliases?.get(lower)
  }

  #qualified(table: string, name: string): Compiled | undefined {
    const source = this.sources.find(({ alias }) => alias === table)
    const lower = name.toLowerCase()
    const place = source?.columns.findIndex((column) => column.name.toLowerCase() === lower) ?? -1
    return source === undefined || place < 0 ? undefined : this.at(source, place)
  }

  /** For an expression whose value changes by itself: no query around it may be run once for all rows. */
  markVolatile(): void {
    for (let scope: Scope | undefined = this; scope !== undefined; scope = scope.outer)
      scope.readsOuter = true
  }

  /** A column by its place. */
  at(source: Source, place: number): Compiled {
    const type = source.columns[place]?.type as Type
    this.reads?.add(source)
    return { type, get: () => source.row?.[place] ?? null }
  }
}

/** Whether a condition is true; unknown is not. */
export function conditionOf(compiled: Compiled): () => boolean {
  return () => {
    const value = compiled.get()
    return value !== null && isTrue(value)
  }
}
