/**
 * Calls of MySQL's functions, written anew for SQLite: also those with words between their arguments.
 *
 * Invariants
 * - A function that does not exist is refused by name.
 */
import type { ExpressionWriter } from './expression.ts'
import { StatementRefused, unknownFunction } from './failure.ts'
import { calledName } from './functions.ts'
import { quotedText } from './token-reader.ts'

/** The call that is next. @throws StatementRefused */
export function callOf(writer: ExpressionWriter): string {
  const { reader } = writer
  const name = reader.word()
  reader.expectSymbol('(')
  const special = Object.hasOwn(specialCalls, name.toUpperCase())
    ? specialCalls[name.toUpperCase()]
    : undefined
  const call = special === undefined ? plainCall(writer, name) : special(writer)
  reader.expectSymbol(')')
  return call
}

function plainCall(writer: ExpressionWriter, name: string): string {
  const called = calledName(name)
  if (called === undefined) throw new StatementRefused(unknownFunction(name))
  const distinct = writer.reader.skips('DISTINCT') ? 'DISTINCT ' : ''
  if (!distinct) writer.reader.skips('ALL')
  const args = argsOf(writer)
  if (called === 'count' && args.length > 1) return `count(${distinct}my_tuple(${args.join(', ')}))`
  return `${called}(${distinct}${args.join(', ')})`
}

function argsOf(writer: ExpressionWriter): string[] {
  return writer.reader.seesSymbol(')') ? [] : writer.list()
}

function total(name: string): (writer: ExpressionWriter) => string {
  return (writer) => {
    const distinct = writer.reader.skips('DISTINCT') ? 'DISTINCT ' : ''
    return `${name}(${distinct}my_number(${writer.expression()}))`
  }
}

function shifted(negative: boolean): (writer: ExpressionWriter) => string {
  return (writer) => {
    const moment = writer.expression()
    writer.reader.expectSymbol(',')
    if (writer.reader.sees('INTERVAL')) return writer.interval(moment, negative)
    const count = writer.expression()
    return `my_add_interval(${moment}, ${negative ? `my_neg(${count})` : count}, 'DAY')`
  }
}

function cast(writer: ExpressionWriter): string {
  const value = writer.expression()
  writer.reader.expect('AS')
  return converted(writer, value)
}

function convert(writer: ExpressionWriter): string {
  const value = writer.expression()
  if (writer.reader.skips('USING')) {
    writer.reader.word()
    return value
  }
  writer.reader.expectSymbol(',')
  return converted(writer, value)
}

const conversions: Readonly<Record<string, string>> = {
  SIGNED: 'signed',
  INT: 'signed',
  INTEGER: 'signed',
  UNSIGNED: 'unsigned',
  DOUBLE: 'double',
  FLOAT: 'double',
  REAL: 'double',
  DATE: 'date',
  BINARY: 'binary',
}

function converted(writer: ExpressionWriter, value: string): string {
  const { reader } = writer
  const type = reader.word().toUpperCase()
  if (type === 'SIGNED' || type === 'UNSIGNED') reader.skips('INTEGER') || reader.skips('INT')
  if (type === 'DOUBLE') reader.skips('PRECISION')
  const sizes: string[] = []
  if (reader.skipsSymbol('(')) {
    do {
      const size = reader.next()
      if (size.kind !== 'number') throw reader.refusal(size)
      sizes.push(size.text)
    } while (reader.skipsSymbol(','))
    reader.expectSymbol(')')
  }
  if (type === 'DECIMAL' || type === 'NUMERIC') return `my_decimal(${value}, ${sizes[1] ?? '0'})`
  if (type === 'CHAR' || type === 'NCHAR' || type === 'VARCHAR') {
    if (reader.skips('CHARACTER', 'SET') || reader.skips('CHARSET')) reader.word()
    return `my_char(${value}, ${sizes[0] ?? 'NULL'})`
  }
  if (type === 'DATETIME' || type === 'TIME' || type === 'JSON') return value
  const conversion = Object.hasOwn(conversions, type) ? conversions[type] : undefined
  if (conversion === undefined) throw reader.refusal()
  return `my_${conversion}(${value})`
}

function groupConcat(writer: ExpressionWriter): string {
  const { reader } = writer
  const distinct = reader.skips('DISTINCT') ? 'DISTINCT ' : ''
  const values = writer.list()
  const value = values.length > 1 ? `my_concat(${values.join(', ')})` : `my_text(${values[0] ?? 'NULL'})`
  const order = reader.skips('ORDER', 'BY') ? ` ORDER BY ${writer.sequence(['SEPARATOR'])}` : ''
  const separator = reader.skips('SEPARATOR') ? reader.next() : undefined
  if (separator !== undefined && separator.kind !== 'string') throw reader.refusal(separator)
  return `my_join_array(json_group_array(${distinct}${value}${order}), ${quotedText(separator?.text ?? ',')})`
}

function substring(writer: ExpressionWriter): string {
  const { reader } = writer
  const args = [writer.expression()]
  if (reader.skips('FROM')) {
    args.push(writer.expression())
    if (reader.skips('FOR')) args.push(writer.expression())
  } else while (reader.skipsSymbol(',')) args.push(writer.expression())
  return `my_substring(${args.join(', ')})`
}

function trim(writer: ExpressionWriter): string {
  const { reader } = writer
  const ends = ['BOTH', 'LEADING', 'TRAILING'].find((word) => reader.skips(word))
  const remove = ends !== undefined && reader.sees('FROM') ? "' '" : writer.expression()
  if (!reader.skips('FROM')) return `my_trim(${remove})`
  return `my_trim(${writer.expression()}, ${remove}, '${(ends ?? 'BOTH').toLowerCase()}')`
}

function position(writer: ExpressionWriter): string {
  // Binds tighter than IN, which parts the arguments.
  const needle = writer.expression(7)
  writer.reader.expect('IN')
  return `my_locate(${needle}, ${writer.expression()})`
}

function extract(writer: ExpressionWriter): string {
  const unit = writer.reader.word()
  writer.reader.expect('FROM')
  const called = calledName(unit)
  if (called === undefined) throw writer.reader.refusal()
  return `${called}(${writer.expression()})`
}

function withUnit(
  call: (unit: string, first: string, second: string) => string,
): (writer: ExpressionWriter) => string {
  return (writer) => {
    const unit = quotedText(writer.reader.word())
    writer.reader.expectSymbol(',')
    const first = writer.expression()
    writer.reader.expectSymbol(',')
    return call(unit, first, writer.expression())
  }
}

function condition(writer: ExpressionWriter): string {
  const [when = '', then = '', otherwise = ''] = three(writer)
  return `(CASE WHEN ${when} THEN ${then} ELSE ${otherwise} END)`
}

function three(writer: ExpressionWriter): string[] {
  const args = argsOf(writer)
  if (args.length !== 3) throw writer.reader.refusal()
  return args
}

const specialCalls: Readonly<Record<string, (writer: ExpressionWriter) => string>> = {
  SUM: total('sum'),
  AVG: total('avg'),
  CAST: cast,
  CONVERT: convert,
  GROUP_CONCAT: groupConcat,
  SUBSTRING: substring,
  SUBSTR: substring,
  MID: substring,
  TRIM: trim,
  POSITION: position,
  EXTRACT: extract,
  IF: condition,
  MOD: (writer) => `my_mod(${argsOf(writer).join(', ')})`,
  DATE_ADD: shifted(false),
  ADDDATE: shifted(false),
  DATE_SUB: shifted(true),
  SUBDATE: shifted(true),
  TIMESTAMPDIFF: withUnit((unit, first, second) => `my_timestampdiff(${unit}, ${first}, ${second})`),
  TIMESTAMPADD: withUnit((unit, count, moment) => `my_add_interval(${moment}, ${count}, ${unit})`),
  VALUES: (writer) => `excluded.${writer.expression()}`,
}
