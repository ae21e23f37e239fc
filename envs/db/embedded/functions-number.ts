/**
 * MySQL's functions of numbers.
 *
 * Invariants
 * - Whole numbers stay whole where MySQL keeps them so; results that are no number are NULL.
 */
import { roundTo, type StatementContext, wholeOf } from './operators.ts'
import type { SqlFunction } from './sqlite.ts'
import { toNumber, type Value } from './value.ts'

type Present = Exclude<Value, null>

function finite(value: number): Value {
  return Number.isFinite(value) ? value : null
}

function whole(value: number): Value {
  return Number.isSafeInteger(value) ? BigInt(value) : finite(value)
}

function rounded(value: Present, places: Present = 0n): Value {
  if (typeof value === 'bigint' && Number(wholeOf(places)) >= 0) return value
  return finite(roundTo(toNumber(value), Number(wholeOf(places))))
}

function truncated(value: Present, places: Present = 0n): Value {
  if (typeof value === 'bigint' && Number(wholeOf(places)) >= 0) return value
  const scale = 10 ** Math.max(-20, Math.min(20, Number(wholeOf(places))))
  return finite(Math.trunc(Number((toNumber(value) * scale).toPrecision(15))) / scale)
}

function logarithm(value: Present, ...[of]: readonly Present[]): Value {
  if (of === undefined) return finite(Math.log(toNumber(value)))
  return finite(Math.log(toNumber(of)) / Math.log(toNumber(value)))
}

/** Functions that are NULL where an argument is. */
export const plainNumberFunctions: Readonly<Record<string, (...args: Present[]) => Value>> = {
  abs: (value) => (typeof value === 'bigint' ? (value < 0n ? -value : value) : Math.abs(toNumber(value))),
  round: rounded,
  truncate: truncated,
  floor: (value) => whole(Math.floor(toNumber(value))),
  ceil: (value) => whole(Math.ceil(toNumber(value))),
  sign: (value) => BigInt(Math.sign(toNumber(value)) || 0),
  sqrt: (value) => finite(Math.sqrt(toNumber(value))),
  pow: (value, exponent) => finite(toNumber(value) ** toNumber(exponent ?? 0n)),
  exp: (value) => finite(Math.exp(toNumber(value))),
  ln: (value) => finite(Math.log(toNumber(value))),
  log: logarithm,
  log2: (value) => finite(Math.log2(toNumber(value))),
  log10: (value) => finite(Math.log10(toNumber(value))),
  pi: () => Math.PI,
  sin: (value) => finite(Math.sin(toNumber(value))),
  cos: (value) => finite(Math.cos(toNumber(value))),
  tan: (value) => finite(Math.tan(toNumber(value))),
  radians: (value) => finite((toNumber(value) * Math.PI) / 180),
  degrees: (value) => finite((toNumber(value) * 180) / Math.PI),
}

export const numberAliases: Readonly<Record<string, string>> = {
  ceiling: 'ceil',
  power: 'pow',
}

/** RAND, seeded by the session and the statement, so that played again it is the same. */
export function randomFunctions(context: StatementContext): SqlFunction[] {
  return [{ name: 'my_rand', deterministic: false, call: () => context.random() }]
}
