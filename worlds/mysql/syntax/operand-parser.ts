/**
 * Reads the operands of MySQL's expressions: literals, names, calls, and what is in parentheses.
 *
 * Invariants
 * - A word that is not understood is a syntax error, never passed over.
 */

import { deepestNesting } from '../budget.ts'
import { sqlFailure } from '../database.ts'
import { refuse } from '../failure.ts'
import * as types from '../values/type.ts'
import { callOf } from './call.ts'
import { literal, literalOfBytes, literalOfMoment, literalOfNumeral, literalOfText } from './literal.ts'
import type { CaseOf, Expression, OrderTerm, Query } from './syntax.ts'
import { type TokenReader, wordOf } from './token-reader.ts'

const queryWords = new Set(['SELECT', 'WITH', 'VALUES'])
/** Words that go on with a query behind a part of it in parentheses. */
const setWords = new Set(['UNION', 'EXCEPT', 'INTERSECT', 'ORDER', 'LIMIT'])

/** Functions that are called without parentheses. */
const clocks = new Set(
  `CURRENT_DATE CURRENT_TIMESTAMP CURRENT_TIME LOCALTIME LOCALTIMESTAMP CURRENT_USER UTC_DATE UTC_TIME
   UTC_TIMESTAMP`.split(/\s+/),
)
const wordsOfNoOperand = new Set(
  `FROM WHERE GROUP HAVING ORDER LIMIT ON USING JOIN INNER CROSS UNION AS WHEN THEN ELSE END SET INTO`.split(
    ' ',
  ),
)

/** Reads operands; the subclasses read the operators between them, and queries. */
export abstract class OperandParser {
  readonly reader: TokenReader
  #depth = 0

  constructor(reader: TokenReader) {
    this.reader = reader
  }

  /** A query, without the parentheses around it. */
  abstract query(): Query

  /** One expression, of operators that bind at least so tightly. @throws StatementRefused */
  abstract expression(least?: number): Expression

  descend(): void {
    if (++this.#depth > deepestNesting) refuse(sqlFailure(1436, 'HY000', 'Thread stack overrun'))
  }

  ascend(): void {
    this.#depth--
  }

  /** Expressions parted by commas. */
  list(): Expression[] {
    const members: Expression[] = []
    do members.push(this.expression())
    while (this.reader.skipsSymbol(','))
    return members
  }

  orderTerms(): OrderTerm[] {
    const terms: OrderTerm[] = []
    do {
      const expression = this.expression()
      const descending = this.reader.skips('DESC')
      if (!descending) this.reader.skips('ASC')
      terms.push({ expression, descending })
    } while (this.reader.skipsSymbol(','))
    return terms
  }

  /** A query in parentheses. */
  nestedQuery(): Query {
    this.reader.expectSymbol('(')
    this.descend()
    const query = this.query()
    this.ascend()
    this.reader.expectSymbol(')')
    return query
  }

  /** Whether a query begins here, perhaps in parentheses: `((SELECT 1) + 1)` is an expression. */
  seesQuery(): boolean {
    const { reader } = this
    let parentheses = 0
    while (reader.seesSymbol('(', parentheses)) parentheses++
    if (!queryWords.has(wordOf(reader.peek(parentheses)) ?? '')) return false
    let depth = parentheses
    for (let ahead = parentheses; depth > 1; ahead++) {
      const token = reader.peek(ahead)
      if (token.kind === 'end') return true
      if (token.kind !== 'symbol' || (token.text !== '(' && token.text !== ')')) continue
      if (token.text === '(') ahead = this.#closing(ahead)
      else {
        depth--
        if (setWords.has(wordOf(reader.peek(ahead + 1)) ?? '')) return true
        if (!reader.seesSymbol(')', ahead + 1)) return false
      }
    }
    return true
  }

  /** The parenthesis that closes another one, or the end. */
  #closing(ahead: number): number {
    let depth = 0
    for (let at = ahead; ; at++) {
      const token = this.reader.peek(at)
      if (token.kind === 'end') return at
      if (token.kind !== 'symbol') continue
      depth += token.text === '(' ? 1 : token.text === ')' ? -1 : 0
      if (depth === 0) return at
    }
  }

  operand(): Expression {
    const { reader } = this
    const token = reader.peek()
    switch (token.kind) {
      case 'number':
        return literalOfNumeral(reader.next().text)
      case 'bytes':
        return literalOfBytes(reader.next().text)
      case 'string':
        return literalOfText(this.#strings())
      case 'variable':
        return this.#variable()
      case 'name':
        return this.#name()
      case 'word':
        return this.#word()
      case 'symbol':
        if (token.text === '(') return this.#group()
        if (token.text === '{') return this.#braced()
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

  /** ODBC's `{d '2020-01-05'}`. */
  #braced(): Expression {
    const { reader } = this
    reader.expectSymbol('{')
    const kind = reader.word().toUpperCase()
    const text = this.#strings()
    reader.expectSymbol('}')
    const kinds: Readonly<Record<string, string>> = { D: 'DATE', T: 'TIME', TS: 'TIMESTAMP' }
    const known = kinds[kind]
    if (known === undefined) throw reader.refusal()
    return literalOfMoment(known, text)
  }

  #variable(): Expression {
    const { text } = this.reader.next()
    if (text.startsWith('@@')) return { kind: 'system', name: systemName(text) }
    const name = text.slice(1).toLowerCase()
    if (!this.reader.skipsSymbol(':=')) return { kind: 'variable', name }
    return { kind: 'assign', name, value: this.expression() }
  }

  #group(): Expression {
    const { reader } = this
    if (this.seesQuery()) return { kind: 'query', query: this.nestedQuery() }
    reader.expectSymbol('(')
    const members = this.list()
    reader.expectSymbol(')')
    const [only] = members
    return members.length === 1 && only !== undefined ? only : { kind: 'row', members }
  }

  #word(): Expression {
    const { reader } = this
    const word = wordOf(reader.peek()) ?? ''
    const next = reader.peek(1)
    if (next.kind === 'string') {
      const introduced = this.#introduced(word)
      if (introduced !== undefined) return introduced
    }
    if (word === 'CASE') return this.#case()
    if (reader.skips('NULL')) return literal(null, types.nullType)
    if (reader.skips('TRUE')) return literal(1n, types.integerType)
    if (reader.skips('FALSE')) return literal(0n, types.integerType)
    if (word === 'DEFAULT') return this.#default()
    if (reader.skips('EXISTS')) return { kind: 'exists', query: this.nestedQuery() }
    if (word === 'ROW' && reader.seesSymbol('(', 1)) {
      reader.next()
      return this.#group()
    }
    if (word === 'MATCH' && reader.seesSymbol('(', 1))
      throw reader.unsupported('full-text search (MATCH … AGAINST)')
    if (word === 'INTERVAL' && !reader.seesSymbol('(', 1)) return this.#intervalFirst()
    if (reader.seesSymbol('(', 1)) return callOf(this)
    if (clocks.has(word)) {
      reader.next()
      return { kind: 'call', name: word, args: [] }
    }
    if (wordsOfNoOperand.has(word)) throw reader.refusal()
    return this.#name()
  }

  /** A text behind a word: a moment, or a text of a character set. */
  #introduced(word: string): Expression | undefined {
    const { reader } = this
    const isMoment = word === 'DATE' || word === 'TIME' || word === 'TIMESTAMP'
    if (isMoment) {
      reader.next()
      return literalOfMoment(word, this.#strings())
    }
    if (/^_(UTF8|UTF8MB3|UTF8MB4|ASCII|LATIN1)$/.test(word) || word === 'N') {
      reader.next()
      return literalOfText(this.#strings())
    }
    if (word === '_BINARY') {
      reader.next()
      return { kind: 'unary', operator: 'BINARY', operand: literalOfText(this.#strings()) }
    }
    if (word !== 'B') return undefined
    reader.next()
    const digits = this.#strings()
    if (!/^[01]*$/.test(digits)) throw reader.refusal()
    const hex = BigInt(`0b0${digits}`).toString(16)
    return literalOfBytes(hex.length % 2 === 0 ? hex : `0${hex}`)
  }

  #default(): Expression {
    const { reader } = this
    reader.expect('DEFAULT')
    if (!reader.skipsSymbol('(')) return { kind: 'default' }
    const column = reader.columnName().name
    reader.expectSymbol(')')
    return { kind: 'default', column }
  }

  /** `INTERVAL 1 DAY + moment`. */
  #intervalFirst(): Expression {
    this.reader.expect('INTERVAL')
    const count = this.expression()
    const unit = this.unit()
    this.reader.expectSymbol('+')
    return { kind: 'shift', moment: this.expression(11), count, unit, negative: false }
  }

  unit(): string {
    const token = this.reader.next()
    const unit = (wordOf(token) ?? '').replace(/^SQL_TSI_/, '')
    if (!units.has(unit)) throw this.reader.refusal(token)
    return unit
  }

  #name(): Expression {
    const { table, name } = this.reader.columnName()
    return { kind: 'column', table, name }
  }

  #case(): CaseOf {
    const { reader } = this
    reader.expect('CASE')
    const subject = reader.sees('WHEN') ? undefined : this.expression()
    const branches: [Expression, Expression][] = []
    while (reader.skips('WHEN')) {
      const when = this.expression()
      reader.expect('THEN')
      branches.push([when, this.expression()])
    }
    if (branches.length === 0) throw reader.refusal()
    const otherwise = reader.skips('ELSE') ? this.expression() : undefined
    reader.expect('END')
    return { kind: 'case', subject, branches, otherwise }
  }
  /** `INTERVAL count unit`. */
  interval(): { readonly count: Expression; readonly unit: string } {
    this.reader.expect('INTERVAL')
    const count = this.expression()
    return { count, unit: this.unit() }
  }
}

export const units = new Set(
  `MICROSECOND SECOND MINUTE HOUR DAY WEEK MONTH QUARTER YEAR SECOND_MICROSECOND MINUTE_MICROSECOND MINUTE_SECOND
   HOUR_MICROSECOND HOUR_SECOND HOUR_MINUTE DAY_MICROSECOND DAY_SECOND DAY_MINUTE DAY_HOUR YEAR_MONTH`.split(
    /\s+/,
  ),
)

/** `@@session.sql_mode` is sql_mode. */
function systemName(text: string): string {
  return text
    .slice(2)
    .toLowerCase()
    .replace(/^(?:session|global|local)\./, '')
}
