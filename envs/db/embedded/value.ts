/**
 * Values as MySQL's functions see them, and how MySQL turns one kind into another.
 *
 * Invariants
 * - Whole numbers are bigint, all other numbers are number, bytes stay bytes.
 * - Texts compare as MySQL's default collation has it (utf8mb4_0900_ai_ci): neither case nor accents count,
 *   blanks do.
 * - Where either side of a comparison is a number, both are numbers; a text is the number it begins with.
 */
export type Value = null | string | bigint | number | Uint8Array

const collator = new Intl.Collator('und', { sensitivity: 'base' })

/** −1, 0 or 1, by the default collation. */
export function compareTexts(left: string, right: string): number {
  return left === right ? 0 : collator.compare(left, right)
}

const numericPrefix = /^\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)/

/** The number that a text begins with, 0 where it begins with none. */
export function numberOfText(text: string): number {
  const prefix = numericPrefix.exec(text)
  return prefix === null ? 0 : Number(prefix[1])
}

/** As double; NULL must be handled before. */
export function toNumber(value: Exclude<Value, null>): number {
  if (typeof value === 'number') return value
  if (typeof value === 'bigint') return Number(value)
  return numberOfText(toText(value))
}

// A byte order mark is a character of the text.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** As text, doubles in MySQL's way. */
export function toText(value: Exclude<Value, null>): string {
  if (typeof value === 'string') return value
  if (typeof value === 'bigint') return value.toString()
  if (typeof value === 'number') return textOfDouble(value)
  return decoder.decode(value)
}

/** MySQL prints 17 digits at most, and exponents without a plus from 1e15 on. */
export function textOfDouble(value: number): string {
  if (Object.is(value, -0)) return '-0'
  if (value === 0) return '0'
  const size = Math.abs(value)
  if (size >= 1e15 || size < 1e-15) return value.toExponential().replace('e+', 'e')
  const text = String(value)
  if (!text.includes('e')) return text
  return value.toFixed(20).replace(/0+$/, '')
}

/** Whether a value counts as true; NULL must be handled before. */
export function isTrue(value: Exclude<Value, null>): boolean {
  return typeof value === 'bigint' ? value !== 0n : toNumber(value) !== 0
}

/** −1, 0 or 1 as MySQL compares; undefined where either is NULL. */
export function compareValues(left: Value, right: Value): number | undefined {
  if (left === null || right === null) return undefined
  if (typeof left === 'string' && typeof right === 'string') return compareTexts(left, right)
  if (typeof left === 'bigint' && typeof right === 'bigint') return left < right ? -1 : left > right ? 1 : 0
  if (left instanceof Uint8Array || right instanceof Uint8Array) {
    if (
      typeof left !== 'number' &&
      typeof left !== 'bigint' &&
      typeof right !== 'number' &&
      typeof right !== 'bigint'
    )
      return Buffer.compare(toBytes(left), toBytes(right))
  }
  const difference = toNumber(left) - toNumber(right)
  return difference < 0 ? -1 : difference > 0 ? 1 : 0
}

const encoder = new TextEncoder()

export function toBytes(value: Exclude<Value, null>): Uint8Array {
  return value instanceof Uint8Array ? value : encoder.encode(toText(value))
}

/** Folded so that texts equal by the collation are equal by letter, one letter after another. */
export function foldText(text: string): string {
  return isAscii(text) ? text.toLowerCase() : text.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase()
}

function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 127) return false
  return true
}
