/**
 * The report of a chaos run.
 *
 * Invariants
 * - `lost`, `doubled` and `left` are 0 exactly when every audit found nothing.
 */
import { quantile } from '../figure.ts'
import type { Findings } from './audit.ts'

export interface Report {
  /** Faults made, by kind. */
  readonly faults: Readonly<Record<string, number>>
  readonly lost: number
  readonly doubled: number
  /** Work begun again: at most what was done twice, because an attempt that finds its work done does nothing. */
  readonly redone: { readonly turns: number; readonly updates: number }
  readonly recoverySeconds: { readonly p50: number; readonly p99: number }
  readonly left: number
  /** The last checkpoints of deterministic runs: the same run undisturbed and with faults. */
  readonly checkpoints?: {
    readonly undisturbed: string | null
    readonly disturbed: readonly (string | null)[]
    /** How many of those with faults ended as the undisturbed one. */
    readonly equal: number
  }
}

/** A fault that was made, and how long it took to recover from it. */
export interface Recovered {
  readonly kind: string
  readonly seconds: number
}

/** The results of a campaign. */
export interface Played {
  readonly records: readonly Recovered[]
  readonly findings: readonly Findings[]
  readonly redone: Report['redone']
}

export function reportOf(played: readonly Played[]): Report {
  const records = played.flatMap((each) => each.records)
  const findings = played.flatMap((each) => each.findings)
  const faults: { [kind: string]: number } = {}
  for (const { kind } of records) faults[kind] = (faults[kind] ?? 0) + 1
  const count = (which: keyof Findings) => findings.reduce((sum, found) => sum + found[which].length, 0)
  const seconds = records.map((record) => record.seconds)
  return {
    faults,
    lost: count('lost'),
    doubled: count('doubled'),
    redone: {
      turns: played.reduce((sum, { redone }) => sum + redone.turns, 0),
      updates: played.reduce((sum, { redone }) => sum + redone.updates, 0),
    },
    recoverySeconds: { p50: secondsAt(0.5, seconds), p99: secondsAt(0.99, seconds) },
    left: count('left'),
  }
}

/** To hundredths; 0 where nothing had to recover. */
function secondsAt(share: number, seconds: readonly number[]): number {
  return seconds.length === 0 ? 0 : Math.round(quantile(seconds, share) * 100) / 100
}
