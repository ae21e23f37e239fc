/**
 * Evaluation activities: finding the episodes that are left to play, recording the result, and finding it again.
 *
 * Invariants
 * - A complete result is recorded once, in the store and in the run's metrics.
 * - [LEFT-TO-PLAY-1] Episodes that ended with a reward are never played again; a lost episode gets further attempts.
 * - Figures are added up in the order of samples, not in which they end: the same episodes give the same bytes.
 */

import type { RunConfig } from '../config/schema/schema.ts'
import type { EvaluationSummary } from '../contract/messages.ts'
import { type EvaluationId, type RunId, seedOfWork } from '../identity/identity.ts'
import { isComplete, type LostEpisodes } from '../learning/evaluation/evaluation-completeness.ts'
import { type DeclaredMetrics, measureFigures } from '../learning/evaluation/measure.ts'
import type { Outcome } from '../learning/evaluation/outcome.ts'
import { suiteStatistics } from '../learning/evaluation/suite-statistics.ts'
import { clock } from '../machine/services/clock.ts'
import { latestGoodCheckpoint } from '../policy/checkpoints/versions.ts'
import { StorageFault } from '../storage/disk/fault.ts'
import { type SuiteFigures, summaryOf } from '../storage/records/evaluations.ts'
import type { Store } from '../storage/store.ts'
import { type StoredEpisode, samplesOf } from '../storage/trajectories/episode.ts'
import { failing } from './calls/failure.ts'
import { type EvaluationFigures, evaluationMetrics, recordMetrics } from './metrics/run-metrics.ts'
import { requireSealed } from './stored/known-work.ts'
import type { OpenRuns } from './stored/open-runs.ts'

interface Dependencies {
  readonly store: Store
  readonly runs: OpenRuns
}

export type EvaluationActivities = ReturnType<typeof createEvaluationActivities>

/** One version on one suite. */
export interface WantedEvaluation {
  readonly evaluation: EvaluationId
  readonly run: RunId
  readonly suite: string
  readonly version: number
}

/** Bounds the answer, and so the history of the evaluation that asks. */
const samplesAtOnce = 1_000

/** A range of an evaluation's samples: those to play, and the sums over the others. */
export interface SamplesToPlay {
  /** Each sample with its first attempt that was not played to an end. */
  readonly left: readonly { readonly sample: number; readonly attempt: number }[]
  /** The first sample after these. */
  readonly next: number
  readonly ended: number
  readonly successes: number
  readonly rewardSum: number
}

export function createEvaluationActivities({ store, runs }: Dependencies) {
  async function recordWanted({ evaluation: id, run, suite, version }: WantedEvaluation): Promise<void> {
    const { config } = await runs.get(run)
    await store.evaluations.insert({ id, run, suite, version, seed: config.seed, created: clock.now() })
  }

  return failing({
    /** The samples of an evaluation that are left to play, some of them at a time. @param request.planned samples in all */
    async samplesToPlay({
      from,
      planned,
      ...wanted
    }: WantedEvaluation & { readonly from: number; readonly planned: number }): Promise<SamplesToPlay> {
      await recordWanted(wanted)
      const next = Math.min(planned, from + samplesAtOnce)
      const samples = samplesOf(await store.episodes.list(wanted.evaluation), { from, to: next })
      const results = samples.flatMap(({ result }) => (result === undefined ? [] : [result.seal]))
      return {
        left: samples.flatMap(({ sample, result, nextAttempt: attempt }) =>
          result === undefined ? [{ sample, attempt }] : [],
        ),
        next,
        ended: results.length,
        successes: results.filter(({ success }) => success).length,
        rewardSum: results.reduce((sum, { reward }) => sum + (reward ?? 0), 0),
      }
    },

    async recordEvaluation(request: {
      readonly evaluation: EvaluationId
      readonly run: RunId
      readonly summary: EvaluationSummary
      /** Episodes of each instance. */
      readonly samples: number
    }): Promise<EvaluationSummary> {
      const { evaluation: id, run, summary, samples } = request
      const open = await runs.get(run)
      const { config } = open
      const { suite, version, success, n, planned } = summary
      await recordWanted({ evaluation: id, run, suite, version })
      const episodes = await store.episodes.list(id)
      const known = samplesOf(episodes, { from: 0, to: planned }).flatMap(({ result }) => result?.id ?? [])
      if (known.length < n)
        throw new StorageFault(
          'missing',
          `${n - known.length} episodes of ${id} have lost their end with the store; they are played again`,
        )
      await requireSealed(store, id, known)
      const seed = seedOfWork(config.seed, id, 'intervals')
      const judged = judgementOf(config, suite)
      const found = statisticsOf(episodes, { planned, samples, seed, metrics: judged.metrics })
      const meanReward = found.measures?.reward.value ?? 0
      const judgedBy = judged.of === 'success' ? {} : { judgedBy: judged.of }
      const figures: EvaluationFigures = { meanReward, samples, ...judgedBy, ...found }
      await store.evaluations.complete(id, {
        success,
        n,
        planned,
        lost: lostIn(episodes, planned),
        episodes: episodes.map((episode) => episode.id),
        statistics: { ...figures },
        ended: clock.now(),
      })
      const stored = await store.evaluations.get(id)
      const line = stored === undefined ? undefined : evaluationMetrics(stored)
      if (line !== undefined) await recordMetrics(store, open, line)
      return summaryOf(stored) ?? summary
    },

    /** The version to evaluate now: the newest good one up to the published one; null before there is one. */
    async newestVersion({ run }: { readonly run: RunId }): Promise<{ readonly version: number | null }> {
      const published = await store.runs.version(run)
      if (published === undefined) return { version: null }
      const { directory } = await runs.get(run)
      const { found } = await latestGoodCheckpoint(directory.checkpointsDir, published)
      return { version: found?.version ?? null }
    },

    /**
     * Records an evaluation that is about to start: from now on its version's checkpoint is kept.
     * @returns whether it has no complete result yet
     */
    async beginEvaluation(request: WantedEvaluation): Promise<{ readonly isNew: boolean }> {
      await recordWanted(request)
      const found = (await store.evaluations.get(request.evaluation))?.result
      return { isNew: found === undefined || !isComplete(found) }
    },

    /** Records that an evaluation is not waited for any more; an order for it begins it again. */
    async failEvaluation(
      request: WantedEvaluation & { /** In words. */ readonly reason: string },
    ): Promise<void> {
      await recordWanted(request)
      await store.evaluations.fail(request.evaluation, request.reason)
    },

    /** The results of those evaluations that have ended and are not being played again. */
    async findEvaluations(request: {
      readonly evaluations: readonly EvaluationId[]
    }): Promise<{ readonly summaries: readonly EvaluationSummary[] }> {
      const stored = await Promise.all(request.evaluations.map((id) => store.evaluations.get(id)))
      const ended = stored.filter((evaluation) => evaluation?.isPlayedAgain !== true)
      return { summaries: ended.flatMap((evaluation) => summaryOf(evaluation) ?? []) }
    },
  })
}

/** The measure of a suite, and the metrics of its task. @param name with a number of episodes of its own, too */
function judgementOf({ tasks, evaluation }: RunConfig, name: string) {
  const suite = evaluation.suites.find((each) => each.name === name.split('-', 1)[0])
  const task = tasks.find((each) => each.task === suite?.task)
  return { of: suite?.measure.of ?? 'success', metrics: task?.metrics ?? {} }
}

/** Samples without a reward, by the outcome of the last attempt. */
function lostIn(episodes: readonly StoredEpisode[], planned: number): LostEpisodes {
  const lost: Partial<Record<Outcome, number>> = {}
  for (const { result, last } of samplesOf(episodes, { to: planned })) {
    if (result !== undefined) continue
    // An attempt whose workflow never ran has no seal.
    const outcome = last?.seal.outcome ?? 'infrastructure_error'
    lost[outcome] = (lost[outcome] ?? 0) + 1
  }
  return lost
}

/** Figures of a suite from its episodes; none where no episode ended with a reward. */
function statisticsOf(
  episodes: readonly StoredEpisode[],
  {
    planned,
    samples,
    seed,
    metrics,
  }: {
    readonly planned: number
    readonly samples: number
    readonly seed: number
    readonly metrics: DeclaredMetrics
  },
): SuiteFigures {
  const played = samplesOf(episodes, { to: planned }).flatMap(({ result }) => result ?? [])
  if (played.length === 0) return {}
  const byInstance = Map.groupBy(played, ({ sample }) => Math.floor(sample / samples))
  const instances = [...byInstance.values()].map((each) => each.map(({ seal }) => seal))
  const counts = instances.map((each) => ({
    samples: each.length,
    successes: each.filter(({ success }) => success).length,
  }))
  const { success, passAt } = suiteStatistics(counts, seed)
  const { low, high } = success
  const values = Object.entries(passAt).map(([k, { value }]) => [k, value] as const)
  return {
    instances: instances.length,
    interval: { low, high },
    measures: measureFigures(instances, seed, metrics),
    ...(values.length === 0 ? {} : { passAt: Object.fromEntries(values), passAtIntervals: passAt }),
  }
}
