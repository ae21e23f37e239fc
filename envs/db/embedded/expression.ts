/**
 * MySQL's expressions, written anew for SQLite.
 *
 * Operators that mean something else in SQLite become calls of our functions. What is no operand and no
 * operator (clauses, aliases, commas) is passed on, so that whole queries are read by the same reader.
 *
 * Invariants
 * - Operators bind as MySQL's do; what is written is in parentheses.
 * - Only functions that exist are called.
 */
import { sqlFailure } from '../database.ts'
import { callOf } from './call.ts'
import { clauseOf, isClause } from './clause.ts'
import { StatementRefused } from './failure.ts'
import { quotedName, quotedText, type TokenReader, wordOf } from './token-reader.ts'

const comparisons: Readonly<Record<string, string>> = {
  '=': 'my_eq',
  '<=>': 'my_same',
  '<>': 'my_ne',
  '!=': 'my_ne',
  '<': 'my_lt',
  '<=': 'my_le',
  '>': 'my_gt',
  '>=': 'my_ge',
}
const arithmetic: Readonly<Record<string, readonly [string, number]>> = {
  '+': ['my_add', 10],
  '-': ['my_sub', 10],
  '*': ['my_mul', 11],
  '/': ['my_quotient', 11],
  '%': ['my_mod', 11],
  DIV: ['my_div', 11],
  MOD: ['my_mod', 11],
  '^': ['my_bitxor', 12],
}
const logicals: Readonly<Record<string, 'or' | 'and' | 'xor'>> = {
  OR: 'or',
  '||': 'or',
  AND: 'and',
  '&&': 'and',
  XOR: 'xor',
}
const passedOn: Readonly<Record<string, number>> = { '|': 7, '&': 8, '<<': 9, '>>': 9 }

/** What is called without parentheses. */
const clocks: Readonly<Record<string, string>> = {
  CURRENT_DATE: 'my_curdate',
  CURRENT_TIMESTAMP: 'my_now',
  CURRENT_TIME: 'my_curtime',
  LOCALTIME: 'my_now',
}

// How tightly operators bind, as in MySQL's manual.
const binding = { or: 1, xor: 2, and: 3, not: 4, comparison: 6, bits: 7, unary: 13 } as const
// Deeper than anything sensible, and far from the end of the stack.
const deepest = 100
// SQLite takes so many arguments, with room for others.
const membersOfCall = 500

/** An expression as SQLite reads it; a row is `(a, b)`. */
export interface Operand {
  readonly sql: string
  readonly row: boolean
}

/** Writes the expressions of one statement. */
export class ExpressionWriter {
  readonly reader: TokenReader
  #depth = 0
  /** Whether the sequence that was read last had commas of its own. */
  #commas = false

  constructor(reader: TokenReader) {
    this.reader = reader
  }

  /** Everything up to a closing parenthesis, a semicolon, one of the words, or the end. */
  sequence(stops: readonly string[] = []): string {
    const parts: string[] = []
    let commas = false
    for (;;) {
      const token = this.reader.peek()
      if (token.kind === 'end' || this.reader.seesSymbol(')') || this.reader.seesSymbol(';')) break
      const word = wordOf(token)
      if (word !== undefined && stops.includes(word)) break
      if (this.reader.skipsSymbol(',')) {
        commas = true
        parts.push(',')
      } else if (isClause(this.reader)) parts.push(...clauseOf(this))
      else parts.push(this.expression())
    }
    this.#commas = commas
    return parts.join(' ')
  }

  /** One expression. @throws StatementRefused */
  expression(least = 0): string {
    return this.operand(least).sql
  }

  operand(least = 0): Operand {
    this.#descend()
    let left = this.#prefixed()
    for (;;) {
      const next = this.#infix(left, least)
      if (next === undefined) break
      left = next
    }
    this.#depth--
    return left
  }

  #descend(): void {
    if (++this.#depth > deepest) throw new StatementRefused(sqlFailure(1436, 'HY000', 'Thread stack overrun'))
  }

  /** Expressions parted by commas. */
  list(): string[] {
    const members: string[] = []
    do members.push(this.expression())
    while (this.reader.skipsSymbol(','))
    return members
  }

  #prefixed(): Operand {
    const { reader } = this
    if (reader.skips('NOT') || reader.skipsSymbol('!'))
      return plain(`(NOT ${this.expression(binding.not + 1)})`)
    if (reader.skipsSymbol('-')) {
      const token = reader.peek()
      if (token.kind === 'number') return plain(`-${reader.next().text}`)
      return plain(`my_neg(${this.expression(binding.unary)})`)
    }
    if (reader.skipsSymbol('+')) return this.operand(binding.unary)
    if (reader.skipsSymbol('~')) return plain(`(~${this.expression(binding.unary)})`)
    if (reader.sees('BINARY') && !reader.seesSymbol('(', 1)) {
      reader.next()
      return plain(`my_binary(${this.expression(binding.unary)})`)
    }
    return this.#collated(this.#primary())
  }

  #collated(operand: Operand): Operand {
    if (!this.reader.skips('COLLATE')) return operand
    return /_bin$|^binary$/i.test(this.reader.word()) ? plain(`my_binary(${operand.sql})`) : operand
  }

  #primary(): Operand {
    const { reader } = this
    const token = reader.peek()
    switch (token.kind) {
      case 'number':
        return plain(reader.next().text)
      case 'bytes':
        return plain(`x'${reader.next().text}'`)
      case 'string':
        return plain(quotedText(this.#strings()))
      case 'variable':
        throw new StatementRefused(
          sqlFailure(1193, 'HY000', `Unknown system variable '${token.text.replace(/^@+/, '')}'`),
        )
      case 'name':
        return plain(this.#names())
      case 'word':
        return plain(this.#word())
      case 'symbol':
        if (token.text === '(') return this.group()
        if (token.text === '*') return plain(reader.next().text)
        throw reader.refusal()
      case 'end':
        throw reader.refusal()
    }
  }

  /** Strings side by side are one. */
  #strings(): string {
    let text = ''
    while (this.reader.peek().kind === 'string') text += this.reader.next().text
    return text
  }

  /** What is in parentheses: an expression, a row, or a query. */
  group(): Operand {
    this.reader.expectSymbol('(')
    this.#descend()
    const query = this.reader.sees('SELECT') || this.reader.sees('WITH') || this.reader.sees('VALUES')
    const inner = this.sequence()
    const commas = this.#commas
    this.reader.expectSymbol(')')
    this.#depth--
    return { sql: `(${inner})`, row: !query && commas }
  }

  #word(): string {
    const { reader } = this
    if (reader.sees('CASE')) return this.#case()
    for (const constant of ['NULL', 'TRUE', 'FALSE']) if (reader.skips(constant)) return constant
    if (reader.skips('DEFAULT')) return 'NULL'
    if (reader.skips('EXISTS')) return `EXISTS ${this.group().sql}`
    if (reader.sees('INTERVAL') && !reader.seesSymbol('(', 1)) throw reader.refusal()
    if ((reader.sees('DATE') || reader.sees('TIMESTAMP')) && reader.peek(1).kind === 'string') reader.next()
    if (reader.peek().kind === 'string') return quotedText(this.#strings())
    if (reader.seesSymbol('(', 1)) return this.#windowed(callOf(this))
    for (const [constant, call] of Object.entries(clocks)) if (reader.skips(constant)) return `${call}()`
    return this.#names()
  }

  #windowed(call: string): string {
    if (!this.reader.skips('OVER')) return call
    return `${call} OVER ${this.reader.seesSymbol('(') ? this.#window() : quotedName(this.reader.name())}`
  }

  /** A window; its frame is passed on word by word. */
  #window(): string {
    this.reader.expectSymbol('(')
    let inner = this.sequence(['ROWS', 'RANGE', 'GROUPS'])
    for (let token = this.reader.peek(); !this.reader.seesSymbol(')'); token = this.reader.peek()) {
      if (token.kind !== 'word' && token.kind !== 'number') throw this.reader.refusal()
      if (token.kind === 'word' && !frameWords.has(token.upper)) throw this.reader.refusal()
      inner += ` ${this.reader.next().text}`
    }
    this.reader.expectSymbol(')')
    return `(${inner})`
  }

  #names(): string {
    const { reader } = this
    const parts = [quotedName(reader.name())]
    while (reader.seesSymbol('.')) {
      reader.next()
      parts.push(reader.skipsSymbol('*') ? '*' : quotedName(reader.name()))
    }
    const [schema = '', table = ''] = parts.map((part) => part.toLowerCase())
    if (schema === '"information_schema"') return schemaTables[table] ?? parts.join('.')
    // `dbbench.table`: SQLite calls the database main.
    return parts.length > 1 && schema === '"dbbench"' ? parts.slice(1).join('.') : parts.join('.')
  }

  #case(): string {
    const { reader } = this
    reader.expect('CASE')
    const subject = reader.sees('WHEN') ? undefined : this.expression()
    const parts: string[] = []
    while (reader.skips('WHEN')) {
      const when = this.expression()
      reader.expect('THEN')
      parts.push(
        `WHEN ${subject === undefined ? when : `my_eq(${subject}, ${when})`} THEN ${this.expression()}`,
      )
    }
    if (parts.length === 0) throw reader.refusal()
    if (reader.skips('ELSE')) parts.push(`ELSE ${this.expression()}`)
    reader.expect('END')
    return `(CASE ${parts.join(' ')} END)`
  }

  #infix(left: Operand, least: number): Operand | undefined {
    const { reader } = this
    const token = reader.peek()
    const sign = token.kind === 'symbol' ? token.text : (wordOf(token) ?? '')
    const logical = Object.hasOwn(logicals, sign) ? logicals[sign] : undefined
    if (logical !== undefined) {
      if (binding[logical] < least) return undefined
      reader.next()
      const right = this.expression(binding[logical] + 1)
      return plain(
        logical === 'xor'
          ? `my_xor(${left.sql}, ${right})`
          : `(${left.sql} ${logical.toUpperCase()} ${right})`,
      )
    }
    const compute = Object.hasOwn(arithmetic, sign) ? arithmetic[sign] : undefined
    if (compute !== undefined) {
      const [call, strength] = compute
      if (strength < least) return undefined
      reader.next()
      if (strength === 10 && reader.sees('INTERVAL')) return plain(this.interval(left.sql, sign === '-'))
      return plain(`${call}(${left.sql}, ${this.expression(strength + 1)})`)
    }
    const strength = Object.hasOwn(passedOn, sign) ? passedOn[sign] : undefined
    if (strength !== undefined) {
      if (strength < least) return undefined
      reader.next()
      return plain(`(${left.sql} ${sign} ${this.expression(strength + 1)})`)
    }
    if (sign === '->' || sign === '->>') {
      reader.next()
      return plain(`(${left.sql} ${sign} ${this.#primary().sql})`)
    }
    return binding.comparison < least ? undefined : this.#comparison(left, sign)
  }

  /** `INTERVAL count unit`, added to a moment. */
  interval(moment: string, negative: boolean): string {
    this.reader.expect('INTERVAL')
    const count = this.expression()
    const unit = this.reader.word()
    return `my_add_interval(${moment}, ${negative ? `my_neg(${count})` : count}, ${quotedText(unit)})`
  }

  #comparison(left: Operand, sign: string): Operand | undefined {
    const { reader } = this
    const compare = Object.hasOwn(comparisons, sign) ? comparisons[sign] : undefined
    if (compare !== undefined) {
      reader.next()
      if (reader.skips('ANY') || reader.skips('SOME')) return this.#quantified(left, sign === '=', 'IN')
      if (reader.skips('ALL')) return this.#quantified(left, sign === '<>' || sign === '!=', 'NOT IN')
      const right = this.operand(binding.bits)
      if (left.row || right.row) return plain(`(${left.sql} ${sign === '<=>' ? 'IS' : sign} ${right.sql})`)
      return plain(`${compare}(${left.sql}, ${right.sql})`)
    }
    if (sign === 'IS') return this.#is(left)
    const negated = sign === 'NOT' && negatable.has(wordOf(reader.peek(1)) ?? '')
    const word = negated ? (wordOf(reader.peek(1)) ?? '') : sign
    if (!negatable.has(word)) return undefined
    if (negated) reader.next()
    reader.next()
    const positive = this.#relation(left, word)
    return plain(negated ? `(NOT ${positive})` : positive)
  }

  #relation(left: Operand, word: string): string {
    const { reader } = this
    if (word === 'IN') return this.#in(left)
    if (word === 'BETWEEN') {
      const low = this.expression(binding.bits)
      reader.expect('AND')
      return `my_between(${left.sql}, ${low}, ${this.expression(binding.bits)})`
    }
    const pattern = this.expression(binding.bits)
    if (word !== 'LIKE') return `my_regexp(${left.sql}, ${pattern})`
    const escaped = reader.skips('ESCAPE') ? `, ${this.#primary().sql}` : ''
    return `my_like(${left.sql}, ${pattern}${escaped})`
  }

  #in(left: Operand): string {
    const { reader } = this
    if (!reader.seesSymbol('(')) throw reader.refusal()
    const next = wordOf(reader.peek(1))
    if (left.row || next === 'SELECT' || next === 'WITH') return `(${left.sql} IN ${this.group().sql})`
    reader.expectSymbol('(')
    const members = this.list()
    reader.expectSymbol(')')
    const calls: string[] = []
    for (let at = 0; at < members.length; at += membersOfCall)
      calls.push(`my_in(${[left.sql, ...members.slice(at, at + membersOfCall)].join(', ')})`)
    return `(${calls.join(' OR ')})`
  }

  #is(left: Operand): Operand {
    const { reader } = this
    reader.expect('IS')
    const not = reader.skips('NOT') ? 'NOT ' : ''
    if (reader.skips('NULL') || reader.skips('UNKNOWN')) return plain(`(${left.sql} IS ${not}NULL)`)
    if (reader.skips('TRUE')) return plain(`(my_true(${left.sql}) IS ${not}1)`)
    if (reader.skips('FALSE')) return plain(`(my_true(${left.sql}) IS ${not}0)`)
    throw reader.refusal()
  }

  #quantified(left: Operand, possible: boolean, operator: string): Operand {
    if (!possible)
      throw new StatementRefused(
        sqlFailure(
          1235,
          '42000',
          "This version of MySQL doesn't yet support 'ANY and ALL with this operator'",
        ),
      )
    return plain(`(${left.sql} ${operator} ${this.group().sql})`)
  }
}

const negatable = new Set(['IN', 'LIKE', 'BETWEEN', 'REGEXP', 'RLIKE'])
const frameWords = new Set(
  'ROWS RANGE GROUPS BETWEEN UNBOUNDED PRECEDING FOLLOWING CURRENT ROW AND'.split(' '),
)

const schemaTables: Readonly<Record<string, string>> = {
  '"tables"': `(SELECT 'def' AS TABLE_CATALOG, 'dbbench' AS TABLE_SCHEMA, name AS TABLE_NAME, 'BASE TABLE' AS TABLE_TYPE FROM sqlite_master WHERE type = 'table')`,
  '"columns"': `(SELECT 'dbbench' AS TABLE_SCHEMA, m.name AS TABLE_NAME, c.name AS COLUMN_NAME, c.cid + 1 AS ORDINAL_POSITION, my_lower(c.type) AS DATA_TYPE, my_lower(c.type) AS COLUMN_TYPE, 'YES' AS IS_NULLABLE FROM sqlite_master AS m, pragma_table_info(m.name) AS c)`,
  '"schemata"': `(SELECT 'dbbench' AS SCHEMA_NAME)`,
}

function plain(sql: string): Operand {
  return { sql, row: false }
}
