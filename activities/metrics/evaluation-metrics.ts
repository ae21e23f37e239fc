/**
 * The metrics line of an evaluation, from what the store keeps of it.
 *
 * Invariants
 * - An evaluation without a result has none.
 */
import { withinRun } from '../../identity/identity.ts'
import type { EvaluationMetrics } from '../../storage/metrics/metrics.ts'
import type { StoredEvaluation, SuiteFigures } from '../../storage/records/evaluations.ts'

/** Figures of an evaluation, as they are stored beside its success. */
export interface EvaluationFigures extends SuiteFigures {
  readonly meanReward: number
  /** Episodes of each instance. */
  readonly samples: number
}

export function evaluationMetrics({
  id,
  version,
  suite,
  result,
}: StoredEvaluation): EvaluationMetrics | undefined {
  if (result === undefined) return undefined
  const { success, n, planned, lost, ended } = result
  const { meanReward, samples, interval, passAt } = result.statistics as unknown as EvaluationFigures
  return {
    evaluation: withinRun(id),
    version,
    suite,
    success,
    n,
    planned,
    lost,
    samples,
    mean_reward: meanReward,
    ...interval,
    ...(passAt === undefined ? {} : { pass_at: passAt }),
    time: new Date(ended).toISOString(),
  }
}
