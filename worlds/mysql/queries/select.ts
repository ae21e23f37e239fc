/**
 * Runs one SELECT: FROM, WHERE, GROUP BY, HAVING, windows, the select list, DISTINCT, ORDER BY, LIMIT.
 *
 * Invariants
 * - Each clause sees the names that MySQL lets it see.
 * - Rows that no clause needs together are given one by one, so that a LIMIT ends the reading.
 */
import { sqlFailure } from '../database.ts'
import {
  type Compiled,
  type CompiledQuery,
  type Context,
  conditionOf,
  Scope,
  type SourceColumn,
} from '../expressions/scope.ts'
import { refuse, unknownColumn } from '../failure.ts'
import type { Expression, Limit, OrderTerm, Select, SelectItem } from '../syntax/syntax.ts'
import type { Row } from '../tables/catalog.ts'
import { integerType, type Type } from '../values/type.ts'
import { truth, type Value } from '../values/value.ts'
import { compileFrom, filtersOf } from './from.ts'
import { Grouping, type Snapshot } from './grouping.ts'
import type { JoinNode } from './join.ts'
import { type Bounds, boundsOf, type Keyed, limited, type OrderKey, rowKey, sorted } from './order.ts'
import { Windowing } from './windowing.ts'

interface Output extends SourceColumn {
  readonly compiled: Compiled
}

/** Compiles a SELECT with the ORDER BY and LIMIT behind it. */
export function compileSelect(
  select: Select,
  { order, limit }: { readonly order: readonly OrderTerm[]; readonly limit?: Limit | undefined },
  outer: Scope,
): CompiledQuery {
  const compiler = new SelectCompiler(select, outer)
  return compiler.compile(order, boundsOf(limit))
}

class SelectCompiler {
  readonly #select: Select
  readonly #scope: Scope
  readonly #context: Context
  readonly #grouping: Grouping
  readonly #windowing: Windowing

  constructor(select: Select, outer: Scope) {
    this.#select = select
    this.#context = outer.context
    this.#scope = new Scope({ context: outer.context, outer })
    this.#grouping = new Grouping(this.#scope, select.rollup)
    this.#windowing = new Windowing(select.windows)
  }

  compile(order: readonly OrderTerm[], bounds: Bounds): CompiledQuery {
    const [select, scope] = [this.#select, this.#scope]
    const node = compileFrom(select.from, scope)
    if (select.where !== undefined)
      for (const filter of filtersOf(select.where, scope, 'where clause')) node.push(filter)
    for (const key of select.group) this.#grouping.addKey(this.#groupKey(key))
    this.#admitCalls()
    const outputs = select.items.flatMap((item) => this.#outputs(item, node))
    if (outputs.length === 0) refuse(sqlFailure(1096, 'HY000', 'No tables used'))
    scope.aliases = aliasesOf(select.items, outputs)
    const having = select.having === undefined ? undefined : this.#having(select.having, select.items)
    const keys = this.#orderKeys(order, outputs)
    const columns = outputs.map(({ name, compiled: { type } }) => ({ name, type }))
    const run = () => this.#run(node, outputs, having, keys, bounds)
    return { columns, correlated: () => scope.readsOuter, run }
  }

  #admitCalls(): void {
    const scope = this.#scope
    scope.aggregate = (call, within) => this.#grouping.call(call, within)
    scope.window = (call, within) => this.#windowing.call(call, within)
    scope.substitute = (expression) => this.#substitute(expression)
  }

  #substitute(expression: Expression): Compiled | undefined {
    if (expression.kind === 'call' && expression.name === 'GROUPING') {
      const [key] = expression.args
      const rolled = key === undefined ? undefined : this.#grouping.rolled(key)
      if (rolled === undefined)
        refuse(sqlFailure(3580, 'HY000', 'Argument of GROUPING function is not in GROUP BY'))
      return { type: integerType, get: () => truth(rolled()) }
    }
    return this.#grouping.substitute(expression)
  }

  /** A key by place or alias is the expression that it names. */
  #groupKey(key: Expression): Expression {
    const { items } = this.#select
    if (key.kind === 'literal' && typeof key.value === 'bigint')
      return (
        items[Number(key.value) - 1]?.expression ??
        refuse(unknownColumn(String(key.value), 'group statement'))
      )
    if (key.kind !== 'column' || key.table !== undefined) return key
    const lower = key.name.toLowerCase()
    if (this.#scope.visible.some(({ name }) => name.toLowerCase() === lower)) return key
    return items.find(({ name, aliased }) => aliased && name.toLowerCase() === lower)?.expression ?? key
  }

  #outputs({ star, expression, name }: SelectItem, node: JoinNode): Output[] {
    if (expression !== undefined) {
      const compiled = this.#scope.compile(expression)
      return [{ name, type: compiled.type, compiled }]
    }
    const table = star?.table
    if (table === undefined)
      return node.visible.map((column) => ({
        ...column,
        compiled: this.#substituted(column.name, column.compiled),
      }))
    const source = node.sources.find(({ alias }) => alias === table)
    if (source === undefined) return refuse(sqlFailure(1051, '42S02', `Unknown table '${table}'`))
    return source.columns.map((column, place) => ({ ...column, compiled: this.#scope.at(source, place) }))
  }

  #substituted(name: string, compiled: Compiled): Compiled {
    return this.#grouping.substitute({ kind: 'column', name }) ?? compiled
  }

  /** HAVING sees the select list and the keys of the groups, not other columns. */
  #having(having: Expression, items: readonly SelectItem[]): Compiled {
    const scope = this.#scope
    const { visible } = scope
    const named = new Set<string>()
    for (const expression of [
      ...this.#select.group.map((key) => this.#groupKey(key)),
      ...items.map((item) => item.expression),
    ])
      if (expression?.kind === 'column') named.add(expression.name.toLowerCase())
    const hasStar = items.some(({ star }) => star !== undefined)
    const restricted = visible.filter(({ name }) => hasStar || named.has(name.toLowerCase()))
    const aggregate = scope.aggregate
    scope.visible = restricted
    scope.aggregate = (call, within) => {
      scope.visible = visible
      const compiled = this.#grouping.call(call, within)
      scope.visible = restricted
      return compiled
    }
    const compiled = scope.within('having clause', () => scope.compile(having))
    scope.visible = visible
    scope.aggregate = aggregate
    return compiled
  }

  #orderKeys(order: readonly OrderTerm[], outputs: readonly Output[]): OrderKey[] {
    const scope = this.#scope
    scope.aliasesFirst = true
    return scope.within('order clause', () =>
      order.map(({ expression, descending }) => {
        const isPlace = expression.kind === 'literal' && typeof expression.value === 'bigint'
        if (!isPlace) return { compiled: scope.compile(expression), descending }
        const output = outputs[Number(expression.value) - 1]
        return {
          compiled: (output ?? refuse(unknownColumn(String(expression.value), 'order clause'))).compiled,
          descending,
        }
      }),
    )
  }

  #run(
    node: JoinNode,
    outputs: readonly Output[],
    having: Compiled | undefined,
    order: readonly OrderKey[],
    bounds: Bounds,
  ): readonly Row[] {
    node.prepare()
    const results = new Results(
      outputs.map(({ compiled }) => compiled),
      order,
      this.#select.distinct,
      bounds,
    )
    const isKept = having === undefined ? () => true : conditionOf(having)
    const give = () => {
      if (!isKept()) return false
      const row = outputs.map(({ compiled }) => compiled.get())
      return results.add(
        this.#context.budget.hold(row),
        order.map(({ compiled }) => compiled.get()),
      )
    }
    if (bounds.count === 0) return []
    if (!this.#grouping.isUsed && !this.#windowing.isUsed) node.iterate(give)
    else this.#runTogether(node, isKept, give)
    return results.rows()
  }

  /** Where rows must be seen together before any can be given. */
  #runTogether(node: JoinNode, isKept: () => boolean, give: () => boolean): void {
    const { sources } = node
    const each = (visit: () => boolean) => void node.iterate(visit)
    const snapshots: readonly Snapshot[] = this.#grouping.isUsed
      ? this.#grouping.run(sources, each)
      : this.#snapshots(node)
    const restore = (snapshot: Snapshot) => {
      for (const [at, source] of sources.entries()) source.row = snapshot.rows[at] ?? null
      this.#grouping.restore(snapshot)
    }
    const kept = snapshots.filter((snapshot) => {
      restore(snapshot)
      return !this.#windowing.isUsed || isKept()
    })
    const windows = this.#windowing.run(kept.length, (at) => restore(kept[at] as Snapshot))
    for (const [at, snapshot] of kept.entries()) {
      restore(snapshot)
      this.#windowing.restore(windows[at] ?? [])
      if (give()) return
    }
  }

  #snapshots(node: JoinNode): readonly Snapshot[] {
    const snapshots: Snapshot[] = []
    node.iterate(() => {
      const rows = node.sources.map(({ row }) => row)
      this.#context.budget.hold(rows as never)
      snapshots.push({ rows, aggregates: [], level: Number.POSITIVE_INFINITY })
      return false
    })
    return snapshots
  }
}

/** Names of the select list as other clauses see them; the first of several that are alike. */
function aliasesOf(items: readonly SelectItem[], outputs: readonly Output[]): ReadonlyMap<string, Compiled> {
  const aliases = new Map<string, Compiled>()
  const named = new Set(items.filter(({ star }) => star === undefined).map(({ name }) => name.toLowerCase()))
  for (const { name, compiled } of outputs) {
    const lower = name.toLowerCase()
    if (named.has(lower) && !aliases.has(lower)) aliases.set(lower, compiled)
  }
  return aliases
}

/** Rows as they come, until there are enough. */
class Results {
  readonly #types: readonly Type[]
  readonly #order: readonly OrderKey[]
  readonly #bounds: Bounds
  readonly #seen: Set<string> | undefined
  readonly #rows: Keyed[] = []

  constructor(outputs: readonly Compiled[], order: readonly OrderKey[], distinct: boolean, bounds: Bounds) {
    this.#types = outputs.map(({ type }) => type)
    this.#order = order
    this.#bounds = bounds
    this.#seen = distinct ? new Set() : undefined
  }

  /** @returns true when no more are needed */
  add(row: readonly Value[], keys: readonly Value[]): boolean {
    if (this.#seen !== undefined) {
      const key = rowKey(row, this.#types)
      if (this.#seen.has(key)) return false
      this.#seen.add(key)
    }
    this.#rows.push({ row, keys })
    return this.#order.length === 0 && this.#rows.length >= this.#bounds.offset + this.#bounds.count
  }

  rows(): readonly Row[] {
    return limited(sorted(this.#rows, this.#order), this.#bounds).map(({ row }) => row)
  }
}
