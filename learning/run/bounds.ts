/**
 * Bounds of a number that a person gives.
 *
 * Invariants
 * - The expected values are worded in one way, whether a file, the command line or an order is refused.
 */

/** The allowed values of a number. */
export interface Bounds {
  /** Whole numbers only. */
  readonly whole?: true
  readonly atLeast?: number | undefined
  readonly above?: number | undefined
  readonly atMost?: number | undefined
  readonly below?: number | undefined
}

/** True for a finite number within the bounds. */
export function isWithin(bounds: Bounds, value: unknown): value is number {
  if (typeof value !== 'number' || !Number.isFinite(value)) return false
  const { whole, atLeast = value, atMost = value, above, below } = bounds
  if (whole === true && !Number.isSafeInteger(value)) return false
  return (
    value >= atLeast &&
    value <= atMost &&
    !(above !== undefined && value <= above) &&
    !(below !== undefined && value >= below)
  )
}

/** @example boundsInWords({ above: 0, atMost: 1 }) // 'number above 0, at most 1' */
export function boundsInWords({ whole, atLeast, above, atMost, below }: Bounds): string {
  const kind = whole === true ? 'integer' : 'number'
  if (atLeast !== undefined && atMost !== undefined) return `${kind} from ${atLeast} to ${atMost}`
  const low =
    atLeast === undefined ? (above === undefined ? [] : [`above ${above}`]) : [`at least ${atLeast}`]
  const high = atMost === undefined ? (below === undefined ? [] : [`below ${below}`]) : [`at most ${atMost}`]
  return `${kind} ${[...low, ...high].join(', ')}`.trim()
}
