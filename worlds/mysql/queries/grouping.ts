/**
 * GROUP BY: rows that agree in the keys become one, with what the aggregates make of them.
 *
 * Invariants
 * - Without keys there is one group, even of no rows.
 * - WITH ROLLUP groups by each beginning of the keys too; a key that is left out is NULL.
 * - A column that is no key is that of the group's first row, as in MySQL without ONLY_FULL_GROUP_BY.
 */

import type { Compiled, Scope, Source } from '../expressions/scope.ts'
import { groupMisuse, refuse } from '../failure.ts'
import { type Accumulator, type Aggregate, aggregateArguments, aggregateOf } from '../functions/aggregates.ts'
import type { Call, Expression } from '../syntax/syntax.ts'
import type { Row } from '../tables/catalog.ts'
import type { Value } from '../values/value.ts'
import { comparatorOfKeys, type OrderKey, rowKey } from './order.ts'

interface AggregateCall {
  readonly aggregate: Aggregate
  readonly args: readonly Compiled[]
  readonly distinct: boolean
  /** How many of the arguments make a row distinct: those that follow are keys to order by. */
  readonly values: number
}

interface Folding {
  readonly accumulator: Accumulator
  readonly seen: Set<string> | undefined
}

interface Group {
  readonly rows: readonly (Row | null)[]
  readonly keys: readonly Value[]
  readonly level: number
  readonly foldings: readonly Folding[]
}

/** A place in a query's rows: where its sources are, and what its aggregates and windows are there. */
export interface Snapshot {
  readonly rows: readonly (Row | null)[]
  readonly aggregates: readonly Value[]
  readonly level: number
}

export class Grouping {
  readonly #scope: Scope
  readonly #calls: AggregateCall[] = []
  readonly #keys: Compiled[] = []
  readonly #rollup: boolean
  readonly #names: string[] = []
  #values: readonly Value[] = []
  #level = Number.POSITIVE_INFINITY

  constructor(scope: Scope, rollup: boolean) {
    this.#scope = scope
    this.#rollup = rollup
  }

  get isUsed(): boolean {
    return this.#calls.length > 0 || this.#keys.length > 0
  }

  addKey(expression: Expression): void {
    this.#keys.push(this.#scope.within('group statement', () => this.#scope.compile(expression)))
    this.#names.push(nameOf(expression))
  }

  /** A key as it is seen behind the grouping: NULL where it was rolled up. */
  substitute(expression: Expression): Compiled | undefined {
    const at = this.#rollup ? this.#names.indexOf(nameOf(expression)) : -1
    const key = at < 0 ? undefined : this.#keys[at]
    if (key === undefined) return undefined
    return { type: key.type, get: () => (at >= this.#level ? null : key.get()) }
  }

  /** Whether a key was rolled up, for GROUPING(). */
  rolled(expression: Expression): (() => boolean) | undefined {
    const at = this.#names.indexOf(nameOf(expression))
    return at < 0 ? undefined : () => at >= this.#level
  }

  /** Compiles an aggregate's call. @throws StatementRefused where one is within another */
  call(call: Call, scope: Scope): Compiled {
    const terms = call.order ?? []
    const compileAll = () =>
      [...call.args, ...terms.map(({ expression }) => expression)].map((arg) => scope.compile(arg))
    const args = aggregateArguments(call, inside(scope, compileAll))
    const aggregate = aggregateOf(call, args)
    const at = this.#calls.length
    this.#calls.push({ aggregate, args, distinct: call.distinct ?? false, values: call.args.length })
    return { type: aggregate.type, get: () => this.#values[at] ?? null }
  }

  /** Groups all rows. @param each calls back at each of them */
  run(sources: readonly Source[], each: (visit: () => boolean) => void): readonly Snapshot[] {
    const groups = new Map<string, Group>()
    const levels = this.#rollup
      ? Array.from({ length: this.#keys.length + 1 }, (_, at) => at)
      : [this.#keys.length]
    this.#level = Number.POSITIVE_INFINITY
    each(() => {
      const keys = this.#keys.map((key) => key.get())
      for (const level of levels) this.#fold(groups, sources, keys, level)
      return false
    })
    if (groups.size === 0 && this.#keys.length === 0)
      this.#start(
        groups,
        '',
        sources.map(() => null),
        [],
        0,
      )
    return this.#ordered([...groups.values()]).map(({ rows, level, foldings }) => ({
      ...{ rows, level },
      aggregates: foldings.map(({ accumulator }) => accumulator.result()),
    }))
  }

  restore({ aggregates, level }: Snapshot): void {
    this.#values = aggregates
    this.#level = level
  }

  #fold(groups: Map<string, Group>, sources: readonly Source[], keys: readonly Value[], level: number): void {
    const own = keys.slice(0, level)
    const key = `${level}\u0000${rowKey(
      own,
      this.#keys.map(({ type }) => type),
    )}`
    const rows = () => this.#scope.context.budget.hold(sources.map(({ row }) => row) as never)
    const group = groups.get(key) ?? this.#start(groups, key, rows(), own, level)
    for (const [at, { args, distinct, values }] of this.#calls.entries()) {
      const given = args.map((arg) => arg.get())
      const { accumulator, seen } = group.foldings[at] as Folding
      if (distinct && seen !== undefined) {
        const mark = rowKey(
          given.slice(0, values),
          args.map(({ type }) => type),
        )
        if (seen.has(mark)) continue
        seen.add(mark)
      }
      accumulator.add(given)
    }
  }

  #start(
    groups: Map<string, Group>,
    key: string,
    rows: readonly (Row | null)[],
    keys: readonly Value[],
    level: number,
  ): Group {
    const foldings = this.#calls.map(({ aggregate, distinct }) => ({
      accumulator: aggregate.start(),
      seen: distinct ? new Set<string>() : undefined,
    }))
    const group = { rows, keys, level, foldings }
    groups.set(key, group)
    return group
  }

  /** Rolled up rows come behind those that they sum up. */
  #ordered(groups: readonly Group[]): readonly Group[] {
    if (!this.#rollup) return groups
    const order: OrderKey[] = this.#keys.map((compiled) => ({ compiled, descending: false }))
    return groups.toSorted((left, right) => {
      const common = Math.min(left.level, right.level)
      const compare = comparatorOfKeys(order.slice(0, common))
      return compare(left.keys, right.keys) || right.level - left.level
    })
  }
}

/** An aggregate's arguments see columns only: no aggregates, no aliases. */
function inside<T>(scope: Scope, work: () => T): T {
  const { aggregate, window, aliases, substitute } = scope
  Object.assign(scope, {
    aggregate: () => refuse(groupMisuse),
    window: undefined,
    aliases: undefined,
    substitute: undefined,
  })
  try {
    return work()
  } finally {
    Object.assign(scope, { aggregate, window, aliases, substitute })
  }
}

/** The same for expressions that are alike. */
function nameOf(expression: Expression): string {
  return JSON.stringify(expression, (key, value: unknown) => {
    if (typeof value === 'bigint') return `${value}n`
    if (key === 'text' || key === 'table') return undefined
    return key === 'name' && typeof value === 'string' ? value.toLowerCase() : value
  })
}
