/**
 * Where the time of an episode went: what each turn took to be sampled, and what the environment took to answer it.
 *
 * Invariants
 * - [TURNSECONDS-1] The environment's part of a turn is the answer to its action, not what the turn begins with.
 */
import { duration } from '../../../../learning/statistics/figures.ts'
import type { TrajectoryAnswer } from '../../../contract/trajectory.ts'

/** The times of one turn; undefined where they were not measured. */
export interface TurnSeconds {
  readonly sampling: number | undefined
  readonly step: number | undefined
}

/** [turns] */
export function turnSeconds({
  turns,
  ending,
}: Pick<TrajectoryAnswer, 'turns' | 'ending'>): readonly TurnSeconds[] {
  return turns.map(({ action }, at) => ({
    sampling: action?.took?.seconds,
    step: action === undefined ? undefined : (turns[at + 1]?.observation ?? ending)?.took?.seconds,
  }))
}

/** Both parts; undefined where neither was measured. */
export function secondsOf({ sampling, step }: TurnSeconds): number | undefined {
  return sampling === undefined && step === undefined ? undefined : (sampling ?? 0) + (step ?? 0)
}

/** @example secondsText(0.0314) // '31 ms' */
export function secondsText(seconds: number): string {
  if (seconds < 0.0005) return '< 1 ms'
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)} ms`
  return seconds < 60 ? `${Number(seconds.toPrecision(3))} s` : duration(seconds)
}
