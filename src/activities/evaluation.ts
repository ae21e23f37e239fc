/**
 * Evaluation activities: recording what an evaluation found, and finding it again.
 *
 * Invariants
 * - A result is recorded once, in the store and in the run's metrics.
 */
import type { EvaluationId, RunId } from '../identity.ts'
import type { StoredEvaluation } from '../storage/evaluations.ts'
import { appendMetrics } from '../storage/metrics.ts'
import type { Store } from '../storage/store.ts'
import type { EvaluationSummary } from '../workflows/messages.ts'
import { failing } from './failure.ts'
import type { OpenRuns } from './open-runs.ts'

interface Dependencies {
  readonly store: Store
  readonly runs: OpenRuns
}

export type EvaluationActivities = ReturnType<typeof createEvaluationActivities>

export function createEvaluationActivities({ store, runs }: Dependencies) {
  return failing({
    async recordEvaluation(request: {
      readonly evaluation: EvaluationId
      readonly run: RunId
      readonly summary: EvaluationSummary
      readonly meanReward: number
    }): Promise<void> {
      const { evaluation: id, run, summary, meanReward } = request
      const { config, directory } = await runs.get(run)
      const { suite, version, success, n } = summary
      await store.evaluations.insert({ id, run, suite, version, seed: config.seed, created: Date.now() })
      const episodes = await store.episodes.list(id)
      await store.evaluations.complete(id, {
        success,
        n,
        episodes: episodes.map((episode) => episode.id),
        statistics: { meanReward },
        ended: Date.now(),
      })
      await appendMetrics(directory.metricsFile, { evaluation: id, version, suite, success, n })
    },

    /** What those evaluations found that have ended. */
    async findEvaluations(request: {
      readonly evaluations: readonly EvaluationId[]
    }): Promise<{ readonly summaries: readonly EvaluationSummary[] }> {
      const stored = await Promise.all(request.evaluations.map((id) => store.evaluations.get(id)))
      return { summaries: stored.flatMap((evaluation) => summaryOf(evaluation) ?? []) }
    },
  })
}

/** What an evaluation found; undefined while it has not ended. */
export function summaryOf(stored: StoredEvaluation | undefined): EvaluationSummary | undefined {
  if (stored?.result === undefined) return undefined
  const { suite, version, result } = stored
  return { suite, version, success: result.success, n: result.n }
}
