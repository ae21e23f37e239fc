/**
 * Bounds of the settings that may change while a run trains. The schema of a configuration is built from this table,
 * and an order to a running run is checked by it.
 *
 * Invariants
 * - A value that a configuration may have may be ordered, and no other.
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

/** By key; `N` is the number of a task or of a gate. */
export const liveBounds = {
  'tasks.N.weight': { atLeast: 0, atMost: 1_000_000 },
  'rollout.maxStaleness': { whole: true, atLeast: 0, atMost: 64 },
  'rollout.groupsInFlight': { whole: true, atLeast: 1, atMost: 65_536 },
  'learning.learningRate': { above: 0, atMost: 1 },
  'learning.klCoefficient': { atLeast: 0, atMost: 100 },
  'learning.entropyCoefficient': { atLeast: 0, atMost: 10 },
  'learning.clipLow': { above: 0, atMost: 1 },
  'learning.clipHigh': { above: 0, atMost: 100 },
  'learning.dualClip': { above: 1, atMost: 1000 },
  'learning.gradientClip': { above: 0, atMost: 1_000_000 },
  'learning.gradientLimit': { above: 0, atMost: 1_000_000_000_000 },
  'learning.minibatches': { whole: true, atLeast: 1, atMost: 4096 },
  'learning.passes': { whole: true, atLeast: 1, atMost: 64 },
  'learning.weightDecay': { atLeast: 0, atMost: 10 },
  'evaluation.gates.N.drop': { atLeast: 0, below: 1 },
} as const satisfies Readonly<Record<string, Bounds>>

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
