/**
 * Reads MySQL's expressions.
 *
 * Invariants
 * - Operators bind as MySQL's do.
 */
import { Decimal } from '../values/decimal.ts'
import * as types from '../values/type.ts'
import { literal } from './literal.ts'
import { OperandParser, units } from './operand-parser.ts'
import type { Collation, Expression } from './syntax.ts'
import { wordOf } from './token-reader.ts'

const comparisons = new Set(['=', '<=>', '<>', '!=', '<', '<=', '>', '>='])
const operators: Readonly<Record<string, readonly [string, number]>> = {
  OR: ['OR', 1],
  '||': ['OR', 1],
  XOR: ['XOR', 2],
  AND: ['AND', 3],
  '&&': ['AND', 3],
  '|': ['|', 7],
  '&': ['&', 8],
  '<<': ['<<', 9],
  '>>': ['>>', 9],
  '+': ['+', 10],
  '-': ['-', 10],
  '*': ['*', 11],
  '/': ['/', 11],
  DIV: ['DIV', 11],
  '%': ['%', 11],
  MOD: ['%', 11],
  '^': ['^', 12],
}
// How tightly other operators bind, as in MySQL's manual.
const binding = { not: 4, comparison: 6, relation: 6.5, bits: 7, additive: 10, unary: 13 } as const
const negatable = new Set(['IN', 'LIKE', 'BETWEEN', 'REGEXP', 'RLIKE'])

/** Reads the expressions of one statement; queries within them are read by the subclass. */
export abstract class ExpressionParser extends OperandParser {
  /** One expression. @throws StatementRefused */
  override expression(least = 0): Expression {
    this.descend()
    const start = this.reader.peek().start
    let left = this.#prefixed()
    for (;;) {
      const next = this.#infix(left, least, start)
      if (next === undefined) break
      left = next
    }
    this.ascend()
    return left
  }

  #prefixed(): Expression {
    const { reader } = this
    if (reader.skips('NOT')) return unary('NOT', this.expression(binding.not + 1))
    if (reader.skipsSymbol('!')) return unary('NOT', this.expression(binding.unary))
    if (reader.skipsSymbol('-')) return this.#negated()
    if (reader.skipsSymbol('+')) return this.expression(binding.unary)
    if (reader.skipsSymbol('~')) return unary('~', this.expression(binding.unary))
    if (reader.sees('BINARY') && !reader.seesSymbol('(', 1)) {
      reader.next()
      return unary('BINARY', this.expression(binding.unary))
    }
    if (reader.sees('BINARY') && reader.seesSymbol('(', 1)) {
      reader.next()
      return unary('BINARY', this.operand())
    }
    return this.#collated(this.operand())
  }

  #negated(): Expression {
    const operand = this.expression(binding.unary)
    if (operand.kind !== 'literal') return unary('-', operand)
    const { value, type } = operand
    if (typeof value === 'bigint' && value <= 1n << 63n)
      return { kind: 'literal', value: -value, type: types.integerType }
    if (typeof value === 'bigint') return literal(new Decimal(-value, 0), types.decimalType(0))
    if (value instanceof Decimal) return literal(value.negated(), type)
    return typeof value === 'number' ? literal(-value, type) : unary('-', operand)
  }

  #collated(operand: Expression): Expression {
    if (!this.reader.skips('COLLATE')) return operand
    return { kind: 'collate', operand, collation: comparisonIn(this.reader.collation()) }
  }

  #infix(left: Expression, least: number, start: number): Expression | undefined {
    const { reader } = this
    const token = reader.peek()
    const sign = token.kind === 'symbol' ? token.text : (wordOf(token) ?? '')
    const known = Object.hasOwn(operators, sign) ? operators[sign] : undefined
    if (known !== undefined) {
      const [operator, strength] = known
      if (strength < least) return undefined
      reader.next()
      if (strength === binding.additive && reader.sees('INTERVAL') && !this.#seesIntervalCall())
        return this.#shifted(left, sign === '-')
      return this.#joined(operator, left, this.expression(strength + 1), start)
    }
    if (sign === '->' || sign === '->>') return this.#extracted(left, sign)
    if (binding.comparison >= least) {
      const comparison = this.#comparison(left, sign, start)
      if (comparison !== undefined) return comparison
    }
    return binding.relation < least ? undefined : this.#relationOf(left, sign)
  }

  #joined(operator: string, left: Expression, right: Expression, start: number): Expression {
    return { kind: 'binary', operator, left, right, text: `(${this.reader.textFrom(start)})` }
  }

  /** INTERVAL(a, b, c) is a function, `INTERVAL (a) DAY` is not. */
  #seesIntervalCall(): boolean {
    const { reader } = this
    if (!reader.seesSymbol('(', 1)) return false
    let depth = 0
    for (let ahead = 1; ; ahead++) {
      const token = reader.peek(ahead)
      if (token.kind === 'end') return true
      if (token.kind !== 'symbol') continue
      depth += token.text === '(' ? 1 : token.text === ')' ? -1 : 0
      if (depth === 0) return !units.has(wordOf(reader.peek(ahead + 1)) ?? '')
    }
  }

  #shifted(moment: Expression, negative: boolean): Expression {
    return { ...this.interval(), kind: 'shift', moment, negative }
  }

  #extracted(left: Expression, sign: string): Expression {
    this.reader.next()
    const path = this.operand()
    const extracted: Expression = { kind: 'call', name: 'JSON_EXTRACT', args: [left, path] }
    return sign === '->' ? extracted : { kind: 'call', name: 'JSON_UNQUOTE', args: [extracted] }
  }

  #comparison(left: Expression, sign: string, start: number): Expression | undefined {
    const { reader } = this
    if (comparisons.has(sign)) {
      reader.next()
      const operator = sign === '!=' ? '<>' : sign
      if (reader.skips('ANY') || reader.skips('SOME'))
        return { kind: 'quantified', operator, left, all: false, query: this.nestedQuery() }
      if (reader.sees('ALL') && reader.seesSymbol('(', 1)) {
        reader.next()
        return { kind: 'quantified', operator, left, all: true, query: this.nestedQuery() }
      }
      return this.#joined(operator, left, this.expression(binding.relation), start)
    }
    if (sign === 'IS') return this.#is(left)
    if (sign === 'SOUNDS') {
      reader.expect('SOUNDS', 'LIKE')
      const [one, other] = [left, this.expression(binding.bits)].map(soundexOf) as [Expression, Expression]
      return this.#joined('=', one, other, start)
    }
    return undefined
  }

  /** LIKE, IN, BETWEEN and REGEXP bind tighter than other comparisons, and not to one another. */
  #relationOf(left: Expression, sign: string): Expression | undefined {
    const { reader } = this
    const negated = sign === 'NOT' && negatable.has(wordOf(reader.peek(1)) ?? '')
    const word = negated ? (wordOf(reader.peek(1)) ?? '') : sign
    if (!negatable.has(word)) return undefined
    if (negated) reader.next()
    reader.next()
    const relation = this.#relation(left, word, negated)
    const next = wordOf(reader.peek(reader.sees('NOT') ? 1 : 0)) ?? ''
    if (negatable.has(next)) throw reader.refusal()
    return relation
  }

  #relation(value: Expression, word: string, negated: boolean): Expression {
    const { reader } = this
    if (word === 'IN') return this.#in(value, negated)
    if (word === 'BETWEEN') {
      const low = this.expression(binding.bits)
      reader.expect('AND')
      return { kind: 'between', value, low, high: this.expression(binding.bits), negated }
    }
    const pattern = this.expression(binding.bits)
    if (word === 'LIKE') {
      const mark = reader.skips('ESCAPE') ? this.operand() : undefined
      return { kind: 'like', value, pattern, mark, negated }
    }
    const found: Expression = { kind: 'call', name: 'REGEXP_LIKE', args: [value, pattern] }
    return negated ? unary('NOT', found) : found
  }

  #in(value: Expression, negated: boolean): Expression {
    const { reader } = this
    if (!reader.seesSymbol('(')) throw reader.refusal()
    if (this.seesQuery()) return { kind: 'in', value, members: this.nestedQuery(), negated }
    reader.expectSymbol('(')
    const members = this.list()
    reader.expectSymbol(')')
    return { kind: 'in', value, members, negated }
  }

  #is(operand: Expression): Expression {
    const { reader } = this
    reader.expect('IS')
    const negated = reader.skips('NOT')
    if (reader.skips('NULL') || reader.skips('UNKNOWN')) return { kind: 'is', operand, what: 'NULL', negated }
    if (reader.skips('TRUE')) return { kind: 'is', operand, what: 'TRUE', negated }
    if (reader.skips('FALSE')) return { kind: 'is', operand, what: 'FALSE', negated }
    throw reader.refusal()
  }
}

function unary(operator: '-' | '~' | 'NOT' | 'BINARY', operand: Expression): Expression {
  return { kind: 'unary', operator, operand }
}

function soundexOf(operand: Expression): Expression {
  return { kind: 'call', name: 'SOUNDEX', args: [operand] }
}

/** How texts of a collation compare. */
export function comparisonIn(name: string): Collation {
  return { binary: /_bin$|^binary$/i.test(name), padded: !/_0900_|^binary$/i.test(name) }
}
