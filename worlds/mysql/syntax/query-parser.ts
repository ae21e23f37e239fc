/**
 * Reads MySQL's queries.
 *
 * Invariants
 * - A query that would reach a file, a variable or another statement is refused.
 * - Clauses that only ask for a lock or a way of reading are ignored: they change no result.
 */

import { derivedWithoutAlias, StatementRefused } from '../failure.ts'
import { windowOf } from './call.ts'
import { ExpressionParser } from './expression-parser.ts'
import type {
  CommonTable,
  Expression,
  Join,
  Limit,
  Query,
  QueryBody,
  Select,
  SelectItem,
  TableReference,
  Window,
} from './syntax.ts'
import { isReserved, wordOf } from './token-reader.ts'

const readingHints = [
  ...['STRAIGHT_JOIN', 'SQL_CALC_FOUND_ROWS', 'HIGH_PRIORITY', 'SQL_NO_CACHE', 'SQL_SMALL_RESULT'],
  ...['SQL_BIG_RESULT', 'SQL_BUFFER_RESULT'],
]
/** Words that may be names elsewhere, but begin a clause where an alias could be. */
const clauseWords = new Set(
  `LEFT RIGHT WINDOW EXCEPT INTERSECT STRAIGHT_JOIN OFFSET FULL ROWS SQL_CALC_FOUND_ROWS PARTITION END`.split(
    ' ',
  ),
)

export class QueryParser extends ExpressionParser {
  override query(): Query {
    const { reader } = this
    const isWith = reader.skips('WITH')
    const recursive = isWith && reader.skips('RECURSIVE')
    const common = isWith ? this.#commonTables() : []
    const body = this.#body()
    const order = reader.skips('ORDER', 'BY') ? this.orderTerms() : []
    const limit = this.limit()
    this.#locks()
    if (reader.sees('INTO')) throw reader.unsupported('SELECT … INTO')
    return { with: common, recursive, body, order, limit }
  }

  #locks(): void {
    const { reader } = this
    if (reader.skips('FOR', 'UPDATE') || reader.skips('FOR', 'SHARE')) reader.skips('NOWAIT')
    reader.skips('LOCK', 'IN', 'SHARE', 'MODE')
  }

  limit(): Limit | undefined {
    const { reader } = this
    if (!reader.skips('LIMIT')) return undefined
    const first = this.#count()
    if (reader.skipsSymbol(',')) return { offset: first, count: this.#count() }
    return { count: first, offset: reader.skips('OFFSET') ? this.#count() : undefined }
  }

  #count(): Expression {
    const token = this.reader.peek()
    if (token.kind !== 'number' || !/^\d+$/.test(token.text)) throw this.reader.refusal()
    return this.expression(20)
  }

  #commonTables(): CommonTable[] {
    const tables: CommonTable[] = []
    do {
      const name = this.reader.name()
      const columns = this.columnList()
      this.reader.expect('AS')
      tables.push({ name, columns, query: this.nestedQuery() })
    } while (this.reader.skipsSymbol(','))
    return tables
  }

  /** Names in parentheses, if there are any. */
  columnList(): string[] {
    const names: string[] = []
    if (!this.reader.skipsSymbol('(')) return names
    if (this.reader.skipsSymbol(')')) return names
    do names.push(this.reader.columnName().name)
    while (this.reader.skipsSymbol(','))
    this.reader.expectSymbol(')')
    return names
  }

  #body(): QueryBody {
    let left = this.#intersection()
    for (;;) {
      const operator = this.reader.skips('UNION')
        ? 'UNION'
        : this.reader.skips('EXCEPT')
          ? 'EXCEPT'
          : undefined
      if (operator === undefined) return left
      const all = this.#all()
      left = { kind: 'union', operator, all, left, right: this.#intersection() }
    }
  }

  #all(): boolean {
    if (this.reader.skips('ALL')) return true
    this.reader.skips('DISTINCT')
    return false
  }

  #intersection(): QueryBody {
    let left = this.#term()
    while (this.reader.skips('INTERSECT'))
      left = { kind: 'union', operator: 'INTERSECT', all: this.#all(), left, right: this.#term() }
    return left
  }

  #term(): QueryBody {
    const { reader } = this
    if (reader.seesSymbol('(')) return { kind: 'nested', query: this.nestedQuery() }
    if (reader.skips('VALUES')) return { kind: 'values', rows: this.#rows() }
    if (reader.sees('TABLE')) {
      reader.next()
      const name = reader.tableName()
      return select([{ star: {}, name: '*', aliased: false }], { kind: 'table', name, alias: name })
    }
    reader.expect('SELECT')
    return this.#select()
  }

  #rows(): Expression[][] {
    const rows: Expression[][] = []
    do rows.push(this.valueList())
    while (this.reader.skipsSymbol(','))
    return rows
  }

  /** `(a, b)`, perhaps behind ROW. */
  valueList(): Expression[] {
    const { reader } = this
    reader.skips('ROW')
    reader.expectSymbol('(')
    const values = reader.seesSymbol(')') ? [] : this.list()
    reader.expectSymbol(')')
    return values
  }

  #select(): Select {
    const { reader } = this
    let distinct = false
    for (;;) {
      if (reader.skips('DISTINCT') || reader.skips('DISTINCTROW')) distinct = true
      else if (!reader.skips('ALL') && !readingHints.some((hint) => reader.skips(hint))) break
    }
    const items = this.#items()
    if (reader.sees('INTO')) throw reader.unsupported('SELECT … INTO')
    const from = reader.skips('FROM') ? this.#from() : undefined
    const where = reader.skips('WHERE') ? this.expression() : undefined
    const group = reader.skips('GROUP', 'BY') ? this.list() : []
    const rollup = group.length > 0 && reader.skips('WITH', 'ROLLUP')
    const having = reader.skips('HAVING') ? this.expression() : undefined
    const windows = reader.skips('WINDOW') ? this.#windows() : new Map<string, Window>()
    return { kind: 'select', distinct, items, from, where, group, rollup, having, windows }
  }

  #windows(): Map<string, Window> {
    const windows = new Map<string, Window>()
    do {
      const name = this.reader.name().toLowerCase()
      this.reader.expect('AS')
      windows.set(name, windowOf(this))
    } while (this.reader.skipsSymbol(','))
    return windows
  }

  #items(): SelectItem[] {
    const items: SelectItem[] = []
    do {
      // Only the first one may be a star without a table.
      if (items.length > 0 && this.reader.seesSymbol('*')) throw this.reader.refusal()
      items.push(this.#item())
    } while (this.reader.skipsSymbol(','))
    return items
  }

  #item(): SelectItem {
    const { reader } = this
    if (reader.skipsSymbol('*')) return { star: {}, name: '*', aliased: false }
    const table = this.#starTable()
    if (table !== undefined) return { star: { table }, name: '*', aliased: false }
    const { start } = reader.peek()
    const expression = this.expression()
    const text = reader.textFrom(start)
    const alias = this.alias(true)
    const name = alias ?? (expression.kind === 'column' ? expression.name : text)
    return { expression, name, aliased: alias !== undefined }
  }

  /** The table of `table.*` or `database.table.*`. */
  #starTable(): string | undefined {
    const { reader } = this
    for (const ahead of [2, 4]) {
      const isStar = reader.seesSymbol('.', ahead - 1) && reader.seesSymbol('*', ahead)
      if (!isStar || (ahead === 4 && !reader.seesSymbol('.', 1))) continue
      if (ahead === 4) {
        reader.name()
        reader.expectSymbol('.')
      }
      const table = reader.name()
      reader.expectSymbol('.')
      reader.expectSymbol('*')
      return table
    }
    return undefined
  }

  /** @param texts whether a text in quotes may be one */
  alias(texts: boolean): string | undefined {
    const { reader } = this
    const token = reader.peek(reader.sees('AS') ? 1 : 0)
    if (texts && token.kind === 'string') {
      reader.skips('AS')
      return reader.next().text
    }
    if (reader.skips('AS')) return reader.name()
    if (token.kind === 'name') return reader.name()
    const word = wordOf(token)
    if (word === undefined || isReserved(word) || clauseWords.has(word)) return undefined
    return reader.name()
  }

  #from(): TableReference | undefined {
    if (this.reader.skips('DUAL')) return undefined
    return this.tableReferences()
  }

  /** Tables parted by commas, and their joins. */
  tableReferences(): TableReference {
    let left = this.#joined()
    while (this.reader.skipsSymbol(',')) left = joined('inner', left, this.#joined())
    return left
  }

  #joined(): TableReference {
    let left = this.#factor()
    for (;;) {
      const next = this.#join(left)
      if (next === undefined) return left
      left = next
    }
  }

  #join(left: TableReference): Join | undefined {
    const { reader } = this
    const natural = reader.skips('NATURAL')
    const side = reader.sees('LEFT') ? 'left' : reader.sees('RIGHT') ? 'right' : 'inner'
    if (side !== 'inner') {
      reader.next()
      reader.skips('OUTER')
      reader.expect('JOIN')
    } else if (reader.skips('STRAIGHT_JOIN')) {
      // Only an order of reading.
    } else {
      if (!natural && !['JOIN', 'INNER', 'CROSS'].some((word) => reader.sees(word))) return undefined
      reader.skips('INNER') || reader.skips('CROSS')
      reader.expect('JOIN')
    }
    const right = this.#factor()
    if (natural) return { ...joined(side, left, right), natural }
    if (reader.skips('ON')) return { ...joined(side, left, right), on: this.expression() }
    if (reader.skips('USING')) return { ...joined(side, left, right), using: this.columnList() }
    if (side !== 'inner') throw reader.refusal()
    return joined(side, left, right)
  }

  #factor(): TableReference {
    const { reader } = this
    if (reader.sees('LATERAL')) throw reader.unsupported('LATERAL')
    if (reader.sees('JSON_TABLE') && reader.seesSymbol('(', 1)) throw reader.unsupported('JSON_TABLE')
    if (reader.seesSymbol('(')) return this.seesQuery() ? this.#derived() : this.#group()
    const { schema, name } = reader.qualifiedName()
    const alias = this.alias(false) ?? name
    if (['USE', 'FORCE', 'IGNORE'].some((word) => reader.sees(word))) throw reader.unsupported('index hints')
    return { kind: 'table', schema, name, alias }
  }

  #derived(): TableReference {
    const query = this.nestedQuery()
    const alias = this.alias(false)
    if (alias === undefined) throw new StatementRefused(derivedWithoutAlias)
    return { kind: 'derived', query, alias, columns: this.columnList() }
  }

  #group(): TableReference {
    this.reader.expectSymbol('(')
    this.descend()
    const inner = this.tableReferences()
    this.ascend()
    this.reader.expectSymbol(')')
    return inner
  }
}

export function joined(side: Join['side'], left: TableReference, right: TableReference): Join {
  return { kind: 'join', side, left, right, natural: false }
}

export function select(items: readonly SelectItem[], from: TableReference): Select {
  return { kind: 'select', distinct: false, items, from, group: [], rollup: false, windows: new Map() }
}
