/**
 * The text of a result that the agent reads: in AgentBench's words, or shorter.
 *
 * AgentBench shows what Python's MySQL client gives: a list of tuples by Python's `repr`, cut at 800
 * characters, and the client's error texts.
 *
 * Invariants
 * - A text has at most some 1,000 characters, however long the result is.
 * - The official form tells values of different kinds apart; the short form does not.
 */
import type { Cell, SqlFailure, StatementResult } from '../../worlds/mysql/database.ts'

/** Tells what a statement did. */
export type Narrator = (result: StatementResult) => string

const officialLimit = 800
const shortLimit = 600

/** AgentBench's texts. */
export function tellOfficially(result: StatementResult): string {
  switch (result.kind) {
    case 'rows':
      return cut(`[${result.rows.map(tupleOf).join(', ')}]`, officialLimit, '[TRUNCATED]')
    case 'done':
      return '[]'
    case 'failed':
      return cut(failureText(result.failure), officialLimit, '[TRUNCATED]')
    case 'timed_out':
      return 'Error: SQL execution timed out.'
  }
}

/** A row a line, values parted by ` | `. */
export function tellShortly(result: StatementResult): string {
  switch (result.kind) {
    case 'rows': {
      if (result.rows.length === 0) return 'no rows'
      const text = result.rows.map((row) => row.map((cell) => cell?.text ?? 'NULL').join(' | ')).join('\n')
      return cut(`${text}${result.truncated ? '\n…' : ''}`, shortLimit, '…') || "''"
    }
    case 'done':
      return `${result.affected} changed`
    case 'failed':
      return cut(`error: ${result.failure.message}`, shortLimit, '…')
    case 'timed_out':
      return 'error: timed out'
  }
}

function cut(text: string, limit: number, mark: string): string {
  return text.length > limit ? text.slice(0, limit) + mark : text
}

function failureText({ code, state, message }: SqlFailure): string {
  return `${code} (${state}): ${message}`
}

function tupleOf(row: readonly Cell[]): string {
  return row.length === 1 ? `(${reprOf(row[0] ?? null)},)` : `(${row.map(reprOf).join(', ')})`
}

function reprOf(cell: Cell): string {
  if (cell === null) return 'None'
  switch (cell.kind) {
    case 'integer':
      return cell.text
    case 'double':
      return reprOfFloat(Number(cell.text))
    case 'decimal':
      return `Decimal('${cell.text}')`
    case 'text':
      return reprOfText(cell.text)
    case 'bytes':
      return `bytearray(b${reprOfText(cell.text)})`
    case 'date':
      return `datetime.date(${figuresOf(cell.text)})`
    case 'datetime':
      return `datetime.datetime(${figuresOf(cell.text)})`
    case 'time':
      return reprOfTime(cell.text)
  }
}

function figuresOf(text: string): string {
  const [year = 0, month = 0, day = 0, ...time] = (text.match(/\d+/g) ?? []).map(Number)
  // Python leaves out seconds that are zero, but hours and minutes never.
  while (time.length > 2 && time.at(-1) === 0) time.pop()
  return [year, month, day, ...time].join(', ')
}

function reprOfTime(text: string): string {
  const [hours = 0, minutes = 0, seconds = 0] = (text.match(/\d+/g) ?? []).map(Number)
  const total = (text.startsWith('-') ? -1 : 1) * (hours * 3600 + minutes * 60 + seconds)
  const days = Math.floor(total / 86_400)
  const rest = total - days * 86_400
  const parts = [...(days === 0 ? [] : [`days=${days}`]), ...(rest === 0 ? [] : [`seconds=${rest}`])]
  return `datetime.timedelta(${parts.length === 0 ? '0' : parts.join(', ')})`
}

/** Python's `repr` of a float: shortest digits, an exponent below 1e-4 and from 1e16 on. */
export function reprOfFloat(value: number): string {
  if (Number.isNaN(value)) return 'nan'
  if (!Number.isFinite(value)) return value < 0 ? '-inf' : 'inf'
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0'
  const [digits = '', exponentText = '0'] = value.toExponential().split('e')
  const exponent = Number(exponentText)
  if (exponent < -4 || exponent >= 16) {
    const sign = exponent < 0 ? '-' : '+'
    return `${digits}e${sign}${String(Math.abs(exponent)).padStart(2, '0')}`
  }
  const plain =
    exponent >= 0
      ? String(value)
      : value.toFixed(Math.max(0, digits.replace(/[-.]/g, '').length - 1 - exponent))
  return plain.includes('.') ? plain : `${plain}.0`
}

const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** Python's `repr` of a string. */
export function reprOfText(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'"
  const inner = text.replaceAll(/[\\\n\r\t'"]|[\p{C}\p{Z}]/gu, (character) => {
    if (character === ' ') return character
    if (character === quote) return `\\${character}`
    if (character === "'" || character === '"') return character
    return escapes[character] ?? escapeOf(character.codePointAt(0) ?? 0)
  })
  return quote + inner + quote
}

function escapeOf(code: number): string {
  if (code <= 0xff) return `\\x${code.toString(16).padStart(2, '0')}`
  if (code <= 0xffff) return `\\u${code.toString(16).padStart(4, '0')}`
  return `\\U${code.toString(16).padStart(8, '0')}`
}
