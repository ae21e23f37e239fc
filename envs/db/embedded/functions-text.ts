/**
 * MySQL's functions of texts.
 *
 * Invariants
 * - Positions count characters from 1; `length` counts bytes.
 * - No result is longer than a value may be.
 */
import { createHash } from 'node:crypto'
import { groupConcatBytes } from '../state-hash.ts'
import { StatementRefused, tooLarge } from './failure.ts'
import { withinLimit } from './match-limit.ts'
import { bounded, wholeOf } from './operators.ts'
import { compiled, matchesPattern } from './pattern.ts'
import { valueBytes } from './sqlite-limits.ts'
import {
  compareTexts,
  compareValues,
  foldText,
  textOfDouble,
  toBytes,
  toNumber,
  toText,
  type Value,
} from './value.ts'

type Present = Exclude<Value, null>
type Plain = (...args: Present[]) => Value

function small(value: Present): number {
  return Math.max(-0x7fffffff, Math.min(0x7fffffff, Number(wholeOf(value))))
}

function part(given: Present, start: Present, ...[count]: readonly Present[]): string {
  const letters = [...toText(given)]
  const from = small(start)
  const first = from < 0 ? letters.length + from : from - 1
  if (from === 0 || first < 0) return ''
  const length = count === undefined ? letters.length : Math.max(0, small(count))
  return letters.slice(first, first + length).join('')
}

function found(needle: Present, hay: Present, from: Present = 1n): bigint {
  const start = Math.max(0, small(from) - 1)
  const text = foldText(toText(hay))
  return (
    BigInt([...text.slice(0, Math.max(0, text.indexOf(foldText(toText(needle)), start)))].length + 1) *
    BigInt(text.includes(foldText(toText(needle)), start))
  )
}

function repeated(text: string, count: number): string {
  if (count > 0 && text.length * count > valueBytes) throw new StatementRefused(tooLarge)
  return text.repeat(Math.max(0, count))
}

function padded(given: Present, length: Present, filling: Present, left: boolean): Value {
  const letters = [...toText(given)]
  const wanted = small(length)
  const fill = [...toText(filling)]
  if (wanted < 0) return null
  if (wanted <= letters.length) return letters.slice(0, wanted).join('')
  if (fill.length === 0) return ''
  const missing = wanted - letters.length
  const padding = [...repeated(toText(filling), Math.ceil(missing / fill.length))].slice(0, missing).join('')
  return bounded(left ? padding + letters.join('') : letters.join('') + padding)
}

function replaced(given: Present, from: Present, to: Present): string {
  const parts = toText(from) === '' ? [toText(given)] : toText(given).split(toText(from))
  if (parts.length * toText(to).length > 2 * valueBytes) throw new StatementRefused(tooLarge)
  return bounded(parts.join(toText(to)))
}

function upTo(given: Present, separator: Present, count: Present): string {
  const text = toText(given)
  if (toText(separator) === '') return ''
  const parts = text.split(toText(separator))
  const wanted = small(count)
  return (wanted >= 0 ? parts.slice(0, wanted) : parts.slice(Math.max(0, parts.length + wanted))).join(
    toText(separator),
  )
}

/** TRIM: which ends, what. */
function trimmed(given: Present, remove: Present, ends: Present): string {
  let text = toText(given)
  const what = toText(remove)
  if (what === '') return text
  if (ends !== 'trailing') while (text.startsWith(what)) text = text.slice(what.length)
  if (ends !== 'leading') while (text.endsWith(what)) text = text.slice(0, -what.length)
  return text
}

function formatted(value: Present, places: Present): string {
  const [whole = '', fraction] = toNumber(value)
    .toFixed(Math.max(0, Math.min(30, small(places))))
    .split('.')
  const grouped = whole.replaceAll(/\B(?=(\d{3})+$)/g, ',')
  return fraction === undefined ? grouped : `${grouped}.${fraction}`
}

/** The members of a JSON array, joined: what GROUP_CONCAT is made of. */
function joined(members: Present, separator: Present): Value {
  const texts = (JSON.parse(toText(members)) as (string | number | null)[]).flatMap((member) =>
    member === null ? [] : [typeof member === 'number' ? textOfDouble(member) : member],
  )
  if (texts.length === 0) return null
  const bytes = new TextEncoder().encode(texts.join(toText(separator)))
  return new TextDecoder().decode(bytes.subarray(0, groupConcatBytes), { stream: true })
}

function extreme(sign: number): Plain {
  return (...values) =>
    values.reduce((best, value) => ((compareValues(value, best) ?? 0) * sign > 0 ? value : best))
}

function regexpReplaced(given: Present, pattern: Present, to: Present): string {
  const expression = compiled(toText(pattern), 'gi')
  const text = toText(given)
  return bounded(withinLimit(toText(pattern), text, () => text.replaceAll(expression, toText(to))))
}

function firstMatch(text: string, pattern: string): RegExpExecArray | null {
  const expression = compiled(pattern)
  return withinLimit(pattern, text, () => expression.exec(text))
}

/** Functions that are NULL where an argument is. */
export const plainTextFunctions: Readonly<Record<string, Plain>> = {
  concat: (...values) => bounded(values.map(toText).join('')),
  left: (text, count) => part(text, 1n, count ?? 0n),
  right: (text, count) =>
    small(count ?? 0n) <= 0 ? '' : [...toText(text)].slice(-small(count ?? 0n)).join(''),
  substring: part,
  substring_index: upTo,
  locate: found,
  instr: (hay, needle) => found(needle, hay),
  replace: replaced,
  reverse: (text) => [...toText(text)].reverse().join(''),
  repeat: (text, count) => repeated(toText(text), small(count)),
  space: (count) => repeated(' ', small(count)),
  lpad: (text, length, filling) => padded(text, length, filling, true),
  rpad: (text, length, filling) => padded(text, length, filling, false),
  char_length: (text) => BigInt([...toText(text)].length),
  length: (text) => BigInt(toBytes(text).length),
  lower: (text) => toText(text).toLowerCase(),
  upper: (text) => toText(text).toUpperCase(),
  trim: (text, remove = ' ', ends = 'both') => trimmed(text, remove, ends),
  ltrim: (text) => trimmed(text, ' ', 'leading'),
  rtrim: (text) => trimmed(text, ' ', 'trailing'),
  ascii: (text) => BigInt(toBytes(text)[0] ?? 0),
  hex: (value) =>
    typeof value === 'string' || value instanceof Uint8Array
      ? Buffer.from(toBytes(value)).toString('hex').toUpperCase()
      : wholeOf(value).toString(16).toUpperCase(),
  find_in_set: (text, list) => {
    const members = toText(list).split(',')
    return BigInt(members.findIndex((member) => compareTexts(member, toText(text)) === 0) + 1)
  },
  strcmp: (left, right) => BigInt(Math.sign(compareTexts(toText(left), toText(right)))),
  format: formatted,
  greatest: extreme(1),
  least: extreme(-1),
  md5: (text) => createHash('md5').update(toBytes(text)).digest('hex'),
  regexp_like: (text, pattern) => (matchesPattern(toText(text), toText(pattern)) ? 1n : 0n),
  regexp_replace: regexpReplaced,
  regexp_substr: (text, pattern) => firstMatch(toText(text), toText(pattern))?.[0] ?? null,
  regexp_instr: (text, pattern) => BigInt((firstMatch(toText(text), toText(pattern))?.index ?? -1) + 1),
  join_array: joined,
}

/** Functions that see NULLs. */
export const textFunctions: Readonly<Record<string, (args: readonly Value[]) => Value>> = {
  concat_ws: ([separator = null, ...values]) =>
    separator === null
      ? null
      : bounded(values.flatMap((value) => (value === null ? [] : [toText(value)])).join(toText(separator))),
  field: ([value = null, ...members]) =>
    BigInt(members.findIndex((member) => compareValues(value, member) === 0) + 1),
  elt: ([position = null, ...members]) => (position === null ? null : (members[small(position) - 1] ?? null)),
  isnull: ([value = null]) => (value === null ? 1n : 0n),
}

/** Other names of the same functions. */
export const textAliases: Readonly<Record<string, string>> = {
  substr: 'substring',
  mid: 'substring',
  lcase: 'lower',
  ucase: 'upper',
  character_length: 'char_length',
  octet_length: 'length',
  position: 'locate',
}
