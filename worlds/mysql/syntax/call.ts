/**
 * Reads calls of functions, also those with words between their arguments.
 *
 * Invariants
 * - Each call becomes a name in upper case with plain arguments; units and modes are arguments of text.
 */

import { integerType, textType } from '../values/type.ts'
import type { OperandParser } from './operand-parser.ts'
import type { Call, CastType, Expression, Frame, FrameBound, Window } from './syntax.ts'
import { wordOf } from './token-reader.ts'

/** The call that is next. @throws StatementRefused */
export function callOf(parser: OperandParser): Expression {
  const { reader } = parser
  const name = reader.word().toUpperCase()
  reader.expectSymbol('(')
  const special = Object.hasOwn(specialCalls, name) ? specialCalls[name] : undefined
  const call = special === undefined ? plainCall(parser, name) : special(parser)
  reader.expectSymbol(')')
  return call.kind === 'call' ? windowed(parser, call) : call
}

function call(name: string, ...args: readonly Expression[]): Call {
  return { kind: 'call', name, args }
}

function text(value: string): Expression {
  return { kind: 'literal', value, type: textType }
}

function plainCall(parser: OperandParser, name: string): Call {
  const { reader } = parser
  if (reader.skipsSymbol('*')) return { ...call(name), star: true }
  const distinct = reader.skips('DISTINCT')
  if (!distinct) reader.skips('ALL')
  return { ...call(name, ...argsOf(parser)), distinct }
}

function argsOf(parser: OperandParser): Expression[] {
  return parser.reader.seesSymbol(')') ? [] : parser.list()
}

function windowed(parser: OperandParser, given: Call): Call {
  const { reader } = parser
  if (reader.sees('IGNORE', 'NULLS') || reader.sees('FROM', 'LAST')) throw reader.unsupported('IGNORE NULLS')
  reader.skips('RESPECT', 'NULLS')
  if (!reader.skips('OVER')) return given
  return { ...given, window: reader.seesSymbol('(') ? windowOf(parser) : reader.name().toLowerCase() }
}

/** A window, in parentheses. */
export function windowOf(parser: OperandParser): Window {
  const { reader } = parser
  reader.expectSymbol('(')
  const words = ['PARTITION', 'ORDER', 'ROWS', 'RANGE', 'GROUPS']
  const named = !reader.seesSymbol(')') && !words.includes(wordOf(reader.peek()) ?? '')
  const base = named ? reader.name().toLowerCase() : undefined
  const partition = reader.skips('PARTITION', 'BY') ? parser.list() : []
  const order = reader.skips('ORDER', 'BY') ? parser.orderTerms() : []
  const frame = reader.seesSymbol(')') ? undefined : frameOf(parser)
  reader.expectSymbol(')')
  return { base, partition, order, frame }
}

function frameOf(parser: OperandParser): Frame {
  const { reader } = parser
  if (reader.sees('GROUPS')) throw reader.unsupported('GROUPS')
  const unit = reader.skips('ROWS') ? 'ROWS' : 'RANGE'
  if (unit === 'RANGE') reader.expect('RANGE')
  if (!reader.skips('BETWEEN')) return { unit, from: boundOf(parser, unit), to: 0 }
  const from = boundOf(parser, unit)
  reader.expect('AND')
  return { unit, from, to: boundOf(parser, unit) }
}

function boundOf({ reader }: OperandParser, unit: string): FrameBound {
  if (reader.skips('CURRENT', 'ROW')) return 0
  const unbounded = reader.skips('UNBOUNDED')
  const token = unbounded ? undefined : reader.next()
  if (token !== undefined && (token.kind !== 'number' || !/^\d+$/.test(token.text)))
    throw reader.refusal(token)
  if (token !== undefined && unit === 'RANGE') throw reader.unsupported('RANGE with a distance')
  const size = token === undefined ? Number.POSITIVE_INFINITY : Number(token.text)
  if (reader.skips('PRECEDING')) return -size
  reader.expect('FOLLOWING')
  return size
}

function shifted(negative: boolean): (parser: OperandParser) => Expression {
  return (parser) => {
    const moment = parser.expression()
    parser.reader.expectSymbol(',')
    if (parser.reader.sees('INTERVAL')) return { ...parser.interval(), kind: 'shift', moment, negative }
    return { kind: 'shift', moment, count: parser.expression(), unit: 'DAY', negative }
  }
}

function cast(parser: OperandParser): Expression {
  const operand = parser.expression()
  parser.reader.expect('AS')
  return { kind: 'cast', operand, to: castType(parser) }
}

function convert(parser: OperandParser): Expression {
  const { reader } = parser
  const operand = parser.expression()
  if (reader.skips('USING')) {
    const set = reader.word().toLowerCase()
    if (set === 'binary') return { kind: 'unary', operator: 'BINARY', operand }
    if (!/^utf8(mb[34])?$/.test(set)) throw reader.unsupported(`character set ${set}`)
    return { kind: 'cast', operand, to: { name: 'CHAR' } }
  }
  reader.expectSymbol(',')
  return { kind: 'cast', operand, to: castType(parser) }
}

const castTypes = new Set(
  'CHAR SIGNED UNSIGNED DECIMAL DOUBLE FLOAT DATE DATETIME TIME BINARY YEAR JSON'.split(' '),
)
const castAliases: Readonly<Record<string, string>> = {
  INTEGER: 'SIGNED',
  INT: 'SIGNED',
  REAL: 'DOUBLE',
  NCHAR: 'CHAR',
}

function castType({ reader }: OperandParser): CastType {
  const token = reader.next()
  const word = wordOf(token) ?? ''
  const name = castAliases[word] ?? word
  if (!castTypes.has(name)) throw reader.refusal(token)
  if (name === 'SIGNED' || name === 'UNSIGNED') reader.skips('INTEGER') || reader.skips('INT')
  if (name === 'DOUBLE') reader.skips('PRECISION')
  const [length, scale] = reader.sizes()
  if (name === 'CHAR' && (reader.skips('CHARACTER', 'SET') || reader.skips('CHARSET'))) {
    const set = reader.word().toLowerCase()
    if (!/^utf8(mb[34])?$/.test(set)) throw reader.unsupported(`character set ${set}`)
  }
  return { name, length, scale }
}

function groupConcat(parser: OperandParser): Call {
  const { reader } = parser
  const distinct = reader.skips('DISTINCT')
  const args = parser.list()
  const order = reader.skips('ORDER', 'BY') ? parser.orderTerms() : []
  const token = reader.skips('SEPARATOR') ? reader.next() : undefined
  if (token !== undefined && token.kind !== 'string') throw reader.refusal(token)
  return { kind: 'call', name: 'GROUP_CONCAT', args, distinct, order, separator: token?.text ?? ',' }
}

function substring(parser: OperandParser): Call {
  const { reader } = parser
  const args = [parser.expression()]
  if (reader.skips('FROM')) {
    args.push(parser.expression())
    if (reader.skips('FOR')) args.push(parser.expression())
  } else while (reader.skipsSymbol(',')) args.push(parser.expression())
  if (args.length < 2 || args.length > 3) throw reader.refusal()
  return call('SUBSTRING', ...args)
}

function trim(parser: OperandParser): Call {
  const { reader } = parser
  const ends = ['BOTH', 'LEADING', 'TRAILING'].find((word) => reader.skips(word))
  const remove = ends !== undefined && reader.sees('FROM') ? text(' ') : parser.expression()
  if (!reader.skips('FROM')) {
    if (ends !== undefined) throw reader.refusal()
    return call('TRIM', remove, text(' '), text('BOTH'))
  }
  return call('TRIM', parser.expression(), remove, text(ends ?? 'BOTH'))
}

function position(parser: OperandParser): Call {
  // Binds tighter than IN, which parts the arguments.
  const needle = parser.expression(7)
  parser.reader.expect('IN')
  return call('LOCATE', needle, parser.expression())
}

function extract(parser: OperandParser): Call {
  const unit = parser.unit()
  parser.reader.expect('FROM')
  return call('EXTRACT', text(unit), parser.expression())
}

function ofUnit(name: string): (parser: OperandParser) => Call {
  return (parser) => {
    const unit = parser.unit()
    parser.reader.expectSymbol(',')
    return call(name, text(unit), ...parser.list())
  }
}

function timestampAdd(parser: OperandParser): Expression {
  const { args } = ofUnit('TIMESTAMPADD')(parser)
  const [unit, count, moment] = args
  if (count === undefined || moment === undefined || args.length !== 3) throw parser.reader.refusal()
  const name = unit?.kind === 'literal' ? String(unit.value) : ''
  return { kind: 'shift', moment, count, unit: name, negative: false }
}

function getFormat(parser: OperandParser): Call {
  const kind = parser.reader.word().toUpperCase()
  parser.reader.expectSymbol(',')
  return call('GET_FORMAT', text(kind), parser.expression())
}

function values(parser: OperandParser): Expression {
  return { kind: 'values', column: parser.reader.columnName().name }
}

/** A function whose number of arguments is a matter of syntax. */
function exactly(name: string, least: number, most = least): (parser: OperandParser) => Call {
  return (parser) => {
    const args = argsOf(parser)
    if (args.length < least || args.length > most) throw parser.reader.refusal()
    return call(name, ...args)
  }
}

function weekday(parser: OperandParser): Call {
  const args = argsOf(parser)
  if (args.length < 1 || args.length > 2) throw parser.reader.refusal()
  return call('WEEK', args[0] as Expression, args[1] ?? { kind: 'literal', value: 0n, type: integerType })
}

const specialCalls: Readonly<Record<string, (parser: OperandParser) => Expression>> = {
  CAST: cast,
  CONVERT: convert,
  GROUP_CONCAT: groupConcat,
  SUBSTRING: substring,
  SUBSTR: substring,
  MID: substring,
  TRIM: trim,
  POSITION: position,
  EXTRACT: extract,
  DATE_ADD: shifted(false),
  ADDDATE: shifted(false),
  DATE_SUB: shifted(true),
  SUBDATE: shifted(true),
  TIMESTAMPDIFF: ofUnit('TIMESTAMPDIFF'),
  TIMESTAMPADD: timestampAdd,
  GET_FORMAT: getFormat,
  VALUES: values,
  WEEK: weekday,
  ...Object.fromEntries(
    [
      'YEAR',
      'MONTH',
      'DAY',
      'HOUR',
      'MINUTE',
      'SECOND',
      'MICROSECOND',
      'QUARTER',
      'DATE',
      'TIME',
      'ASCII',
    ].map((name) => [name, exactly(name, 1)]),
  ),
  ...Object.fromEntries(
    ['LEFT', 'RIGHT', 'REPEAT', 'MOD', 'TRUNCATE'].map((name) => [name, exactly(name, 2)]),
  ),
  IF: exactly('IF', 3),
  REPLACE: exactly('REPLACE', 3),
  INSERT: exactly('INSERT', 4),
  TIMESTAMP: exactly('TIMESTAMP', 1, 2),
}
