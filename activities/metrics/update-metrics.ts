/**
 * The metrics line of an update, from its records in the store.
 *
 * Invariants
 * - It holds the keys that readers of `metrics.jsonl` rely on, all finite.
 */

import type { Estimate } from '../../learning/evaluation/measure.ts'
import type { RatioStatistics } from '../../learning/loss/ratio-statistics.ts'
import type { MemberWeight } from '../../learning/rollout/adaptive-pool.ts'
import type { LearningSignal } from '../../learning/run/learning-signal.ts'
import {
  type MetricName,
  metricRows,
  type NumberName,
  type PlayedFigures,
  storedNumber,
  type TrainerFigures,
} from '../../learning/run/metrics.ts'
import type { UpdateMetrics } from '../../storage/metrics/metrics.ts'
import type { StoredUpdate } from '../../storage/records/updates.ts'
import type { AskedTotals } from '../../storage/trajectories/answers.ts'

/** Figures of one task in an update. */
export interface TaskFigures {
  /** Groups of which every episode was won, none was, and the others. */
  readonly won: number
  readonly lost: number
  readonly mixed: number
  /** Mean of the group advantages over action tokens of groups with preference, before task normalization. */
  readonly mean: number
  readonly deviation: number
  /** Share of Σ w·|A| over all action tokens, w being the weight of a token in the loss. */
  readonly gradientShare: number
}

/** Groups that were played for an update and not trained on, because they teach nothing. */
export interface SkippedFigures {
  readonly groups: number
  /** Groups whose episodes were all won, and groups in which none was. */
  readonly won: number
  readonly lost: number
  readonly episodes: number
  readonly tokens: number
  /** Seconds that each of its episodes took, added up. */
  readonly seconds: number
}

/** Figures of one update, as the trainer activity stores them. */
export interface UpdateFigures extends PlayedFigures, TrainerFigures {
  /** Reward that the environment paid, mean per task. */
  readonly reward: Readonly<Record<string, number>>
  /** Reward that learning uses: paid, or the penalty of an episode that did not complete. */
  readonly shapedReward: Readonly<Record<string, number>>
  /** Rate per task. */
  readonly success: Readonly<Record<string, number>>
  /** Episodes behind them, per task. */
  readonly samples: Readonly<Record<string, number>>
  /** By task and name: metrics that the environment declares, with the 95 % interval over groups; absent without any. */
  readonly metrics?: Readonly<Record<string, Readonly<Record<string, Estimate>>>>
  readonly staleness: { readonly mean: number; readonly max: number }
  /** Ratios of the tokens that were learnt from; absent where there were none. */
  readonly freshRatios?: RatioStatistics
  readonly staleRatios?: RatioStatistics
  /** Absent where sampling does not adapt. */
  readonly memberWeights?: readonly MemberWeight[]
  /** Absent where it does not follow a target. */
  readonly entropyCoefficient?: number
  readonly groupsWithPreference: number
  /** Signal of all groups that were played for the update. */
  readonly signal: LearningSignal
  readonly skipped: SkippedFigures
  /** Groups of earlier updates that were learnt from once more; absent without any. */
  readonly replayed?: number
  /** Questions that the environments of all these groups have asked; absent without any. */
  readonly asked?: AskedTotals
  /** Why the update was refused; absent for one that was made. */
  readonly refused?: string
  /** By task. */
  readonly tasks: Readonly<Record<string, TaskFigures>>
  readonly waitSeconds: number
  readonly trainSeconds: number
}

/** Metrics whose values are more than a number. */
const composed: { readonly [Name in Exclude<MetricName, NumberName>]: (figures: UpdateFigures) => unknown } =
  {
    reward: ({ reward }) => reward,
    shaped_reward: ({ shapedReward }) => shapedReward,
    success: ({ success }) => success,
    samples: ({ samples }) => samples,
    metrics: (figures) => figures.metrics,
    fresh: ({ freshRatios }) => freshRatios && ratioKeys(freshRatios),
    stale: ({ staleRatios }) => staleRatios && ratioKeys(staleRatios),
    pool_weights: ({ memberWeights }) => memberWeights && weightKeys(memberWeights),
    tasks: ({ tasks }) => taskKeys(tasks),
    refused: ({ refused }) => refused,
  }

/** @param publishSeconds time from the finished checkpoint to its being served */
export function metricsOf(update: StoredUpdate, publishSeconds: number): UpdateMetrics {
  const figures = { ...(update.statistics as unknown as UpdateFigures), publishSeconds }
  const line: Record<string, unknown> = {
    step: update.step,
    version: update.version,
    time: new Date(update.created).toISOString(),
  }
  for (const [name] of metricRows) {
    const value = isComposed(name) ? composed[name](figures) : storedNumber(name, figures)
    if (value === undefined) continue
    const [key, part] = name.split('.') as [string, string?]
    line[key] = part === undefined ? value : { ...(line[key] as object), [part]: value }
  }
  // The store checks each line.
  return line as UpdateMetrics
}

function isComposed(name: MetricName): name is keyof typeof composed {
  return name in composed
}

function taskKeys(tasks: Readonly<Record<string, TaskFigures>>) {
  return Object.fromEntries(
    Object.entries(tasks).map(([task, { won, lost, mixed, mean, deviation, gradientShare }]) => [
      task,
      { won, lost, mixed, mean, deviation, gradient_share: gradientShare },
    ]),
  )
}

function ratioKeys({ tokens, kl, effectiveShare, histogram }: RatioStatistics) {
  return { tokens, kl, effective_share: effectiveShare, ratios: [...histogram] }
}

function weightKeys(weights: readonly MemberWeight[]): Record<string, number> {
  return Object.fromEntries(weights.map(({ version, weight }) => [`${version}`, weight]))
}
