/**
 * The metrics line of an update, from what the store keeps of it.
 *
 * Invariants
 * - It holds the keys that readers of `metrics.jsonl` rely on, all finite.
 */

import type { LearningSignal } from '../../learning/algorithms/learning-signal.ts'
import type { RatioStatistics } from '../../learning/loss/ratio-statistics.ts'
import type { MemberWeight } from '../../learning/rollout/adaptive-pool.ts'
import type { UpdateMetrics } from '../../storage/metrics/metrics.ts'
import type { StoredUpdate } from '../../storage/records/updates.ts'

/** Figures of one task in an update. */
export interface TaskFigures {
  /** Groups of which every episode was won, none was, and the others. */
  readonly won: number
  readonly lost: number
  readonly mixed: number
  /** Of the group advantages over action tokens of groups with preference, before task normalization. */
  readonly mean: number
  readonly deviation: number
  /** Of Σ w·|A| over all action tokens, w being what a token counts in the loss. */
  readonly gradientShare: number
}

/** What was played for an update and not trained on, because it teaches nothing. */
export interface SkippedFigures {
  readonly groups: number
  /** Those of which every episode was won, and of which none was. */
  readonly won: number
  readonly lost: number
  readonly episodes: number
  readonly tokens: number
  /** Seconds that each of its episodes took, added up. */
  readonly seconds: number
}

/** Figures of one update, as the trainer activity stores them. */
export interface UpdateFigures {
  readonly episodes: number
  readonly tokens: number
  readonly actionTokens: number
  /** What the environment paid, mean per task; in figures of older versions the shaped reward. */
  readonly reward: Readonly<Record<string, number>>
  /** What learning uses: paid, or the penalty of an episode that did not complete; absent in figures of older versions. */
  readonly shapedReward?: Readonly<Record<string, number>>
  /** Rate per task. */
  readonly success: Readonly<Record<string, number>>
  /** Episodes behind them, per task; absent in figures of older versions. */
  readonly samples?: Readonly<Record<string, number>>
  readonly staleness: { readonly mean: number; readonly max: number }
  readonly staleShare: number
  /** Share of the turns that stand in a state in which another turn of their group stands; absent in figures of older versions. */
  readonly comparedShare?: number
  /** Of the tokens that were learnt from; absent where there were none, and in figures of older versions. */
  readonly freshRatios?: RatioStatistics
  readonly staleRatios?: RatioStatistics
  /** Absent where sampling does not adapt. */
  readonly memberWeights?: readonly MemberWeight[]
  readonly kl: number
  /** How much of that the update itself has made; absent where its trainer does not measure it, and in figures of older versions. */
  readonly drift?: number
  readonly referenceKl: number
  readonly entropy: number
  readonly clipFraction: number
  readonly gradientNorm: number
  readonly loss: number
  readonly groupsWithPreference: number
  /** Of all groups that were played for the update; absent in figures of older versions. */
  readonly signal?: LearningSignal
  /** Absent in figures of older versions. */
  readonly skipped?: SkippedFigures
  /** Groups of earlier updates that were learnt from once more; absent without any. */
  readonly replayed?: number
  /** Why the update was refused; absent for one that was made. */
  readonly refused?: string
  /** By task; absent in figures of older versions. */
  readonly tasks?: Readonly<Record<string, TaskFigures>>
  readonly waitSeconds: number
  readonly trainSeconds: number
}

/** @param publishSeconds time from the finished checkpoint to its being served */
export function metricsOf(update: StoredUpdate, publishSeconds: number): UpdateMetrics {
  const figures = update.statistics as unknown as UpdateFigures
  return {
    step: update.step,
    version: update.version,
    time: new Date(update.created).toISOString(),
    episodes: figures.episodes,
    tokens: figures.tokens,
    action_tokens: figures.actionTokens,
    reward: { ...figures.reward },
    ...(figures.shapedReward === undefined ? {} : { shaped_reward: { ...figures.shapedReward } }),
    success: { ...figures.success },
    samples: { ...figures.samples },
    staleness: { ...figures.staleness },
    stale_share: figures.staleShare,
    ...(figures.comparedShare === undefined ? {} : { compared_share: figures.comparedShare }),
    ...(figures.freshRatios === undefined ? {} : { fresh: ratioKeys(figures.freshRatios) }),
    ...(figures.staleRatios === undefined ? {} : { stale: ratioKeys(figures.staleRatios) }),
    ...(figures.memberWeights === undefined ? {} : { pool_weights: weightKeys(figures.memberWeights) }),
    kl: figures.kl,
    ...(figures.drift === undefined ? {} : { drift: figures.drift }),
    reference_kl: figures.referenceKl,
    entropy: figures.entropy,
    clip_fraction: figures.clipFraction,
    grad_norm: figures.gradientNorm,
    loss: figures.loss,
    groups_with_preference: figures.groupsWithPreference,
    ...signalKeys(figures.signal, figures.skipped),
    ...(figures.skipped === undefined ? {} : { skipped: skippedKeys(figures.skipped) }),
    ...(figures.replayed === undefined ? {} : { replayed: figures.replayed }),
    ...(figures.tasks === undefined ? {} : { tasks: taskKeys(figures.tasks) }),
    ...(figures.refused === undefined ? {} : { refused: figures.refused }),
    seconds: {
      wait: figures.waitSeconds,
      train: figures.trainSeconds,
      publish: publishSeconds,
      ...(figures.skipped === undefined ? {} : { skipped: figures.skipped.seconds }),
    },
  }
}

function taskKeys(tasks: Readonly<Record<string, TaskFigures>>) {
  return Object.fromEntries(
    Object.entries(tasks).map(([task, { won, lost, mixed, mean, deviation, gradientShare }]) => [
      task,
      { won, lost, mixed, mean, deviation, gradient_share: gradientShare },
    ]),
  )
}

function skippedKeys({ seconds: _, ...figures }: SkippedFigures) {
  return figures
}

function ratioKeys({ tokens, kl, effectiveShare, histogram }: RatioStatistics) {
  return { tokens, kl, effective_share: effectiveShare, ratios: [...histogram] }
}

function weightKeys(weights: readonly MemberWeight[]): Record<string, number> {
  return Object.fromEntries(weights.map(({ version, weight }) => [`${version}`, weight]))
}

/** Groups are those that the update trains on, the shares those of all actions. */
function signalKeys(signal: LearningSignal | undefined, skipped: SkippedFigures | undefined) {
  if (signal === undefined) return {}
  const { groups, won, lost, unusable, cutOff } = signal
  return {
    groups: groups - (skipped?.groups ?? 0),
    groups_won: won - (skipped?.won ?? 0),
    groups_lost: lost - (skipped?.lost ?? 0),
    unusable_share: unusable,
    cut_off_share: cutOff,
  }
}
