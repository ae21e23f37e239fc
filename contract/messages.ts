/**
 * Messages of the workflows: signals, queries, updates, search attributes, and their payloads.
 *
 * Invariants
 * - Messages carry references and a few numbers, never transcripts, tokens or weights.
 * - Every payload is plain JSON: it is equal to itself after a round trip.
 * - A signal may arrive twice; its handler counts it once, by the identity in it.
 */

import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common'
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow'
import type {
  BranchId,
  EpisodeId,
  EvaluationId,
  ExperimentName,
  GroupId,
  RunId,
} from '../identity/identity.ts'
import type { LostEpisodes } from '../learning/evaluation/evaluation-completeness.ts'
import type { JudgedFigure } from '../learning/evaluation/judgement.ts'
import type { Outcome } from '../learning/evaluation/outcome.ts'
import type { CrossPolicyRule } from '../learning/rollout/cross-policy.ts'
import type { Standstill } from '../learning/run/learning-signal.ts'
import type { LiveNames } from '../learning/run/live-settings.ts'
import type { RunPhase } from '../learning/run/run-phase.ts'
import type { EpisodeLoss } from './episode-loss.ts'

/** Named here, because declarations of the package cannot name a file inside of Temporal's. */
type Key<T extends SearchAttributeType> = ReturnType<typeof defineSearchAttributeKey<T>>

/** Search attributes, typed; the embedded server registers them at its start. */
export const searchAttributes: Readonly<{
  run: Key<'KEYWORD'>
  task: Key<'KEYWORD'>
  version: Key<'INT'>
  outcome: Key<'KEYWORD'>
  reward: Key<'DOUBLE'>
  group: Key<'KEYWORD'>
  suite: Key<'KEYWORD'>
  success: Key<'DOUBLE'>
}> = {
  run: defineSearchAttributeKey('PerdureRun', SearchAttributeType.KEYWORD),
  task: defineSearchAttributeKey('PerdureTask', SearchAttributeType.KEYWORD),
  version: defineSearchAttributeKey('PerdureVersion', SearchAttributeType.INT),
  outcome: defineSearchAttributeKey('PerdureOutcome', SearchAttributeType.KEYWORD),
  reward: defineSearchAttributeKey('PerdureReward', SearchAttributeType.DOUBLE),
  group: defineSearchAttributeKey('PerdureGroup', SearchAttributeType.KEYWORD),
  suite: defineSearchAttributeKey('PerdureSuite', SearchAttributeType.KEYWORD),
  success: defineSearchAttributeKey('PerdureSuccess', SearchAttributeType.DOUBLE),
}

/** Which policy version a turn is sampled from. */
export type VersionRule =
  | { readonly kind: 'fixed'; readonly version: number }
  /** The newest published version, or with probability `staleShare` a member of the pool. */
  | ({ readonly kind: 'cross_policy' } & CrossPolicyRule)

/** The turn of another episode at which an episode branches off; the turns before it are copied. */
export interface BranchPoint {
  readonly episode: EpisodeId
  /** Turns count from 0. */
  readonly turn: number
}

/** Bounds of an episode that an agent's own program plays. */
export interface AgentPlan {
  readonly timeoutSeconds: number
  readonly turnLimit: number
}

/** The plan of an episode: references and rules, no data. */
export interface EpisodePlan {
  readonly episode: EpisodeId
  readonly run: RunId
  readonly seed: number
  /** Position of the task in the run's configuration. */
  readonly taskIndex: number
  readonly task: string
  readonly split: string
  /** Position of the instance in the order of the split; an episode that branches off has the other's instance. */
  readonly position: number
  /** Absent for an episode that does not branch off. */
  readonly from?: BranchPoint
  readonly turnLimit: number | null
  readonly versions: VersionRule
  readonly temperature: number
  readonly maxTokensPerTurn: number
  readonly invalidActionLimit: number
  /** Whether all attempts at a sample draw alike; absent: a new attempt draws other actions. */
  readonly attemptsDrawAlike?: boolean
  readonly dispatch: 'local' | 'server'
  /** With local dispatch, how long a block of turns takes; absent: a block is one turn, and its parts are activities. */
  readonly blockMs?: number
  /** Present where an agent's own program plays the episode. */
  readonly agent?: AgentPlan
  /** Seconds that one action may take to be sampled, and the questions of the environment to be answered. */
  readonly answerSeconds: number
  /** Where `perdure ui` serves the page of the home; absent: it is not linked to. */
  readonly dashboardUrl?: string
}

/** How an episode ended. */
export interface EpisodeResult {
  readonly episode: EpisodeId
  readonly outcome: Outcome
  /** Null where the outcome carries none. */
  readonly reward: number | null
  readonly success: boolean
  readonly turns: number
  readonly actionTokens: number
  readonly tokens: number
  /** Present where the environment's own code is why it has no reward. */
  readonly loss?: EpisodeLoss
}

/** A group of episodes of one instance. */
export interface GroupPlan {
  readonly group: GroupId
  readonly run: RunId
  readonly number: number
  readonly groupSize: number
  readonly quorum: number
  readonly timeoutSeconds: number
  readonly maxAttempts: number
  /** Policy version when the group was admitted. */
  readonly version: number
  readonly episode: Omit<EpisodePlan, 'episode'>
}

/** The report that a finished group sends to its run. */
export interface GroupReport {
  readonly group: GroupId
  readonly number: number
  readonly taskIndex: number
  readonly task: string
  /** Policy version when the group was admitted. */
  readonly version: number
  /** Empty when the group failed: then it takes part in no update. */
  readonly episodes: readonly EpisodeResult[]
  /** True where its turns teach something, though its rewards are equal; absent: its rewards tell. */
  readonly teaches?: true
  /** Present where the environment's own code made it fail. */
  readonly loss?: EpisodeLoss
}

/** One evaluation of one checkpoint over one suite. */
export interface EvaluationPlan {
  readonly evaluation: EvaluationId
  readonly run: RunId
  readonly suite: string
  readonly version: number
  /** Instances, the first of the split. */
  readonly episodes: number
  /** Episodes of each instance. */
  readonly samples: number
  readonly concurrency: number
  readonly maxAttempts: number
  readonly episode: Omit<EpisodePlan, 'episode' | 'position'>
}

/** Samples that play on from one turn of a recorded episode. */
export interface BranchPlan {
  readonly branch: BranchId
  readonly run: RunId
  readonly version: number
  /** Which samples, and their first attempts: those before it met infrastructure failures. */
  readonly samples: readonly { readonly sample: number; readonly attempt: number }[]
  readonly maxAttempts: number
  readonly episode: Omit<EpisodePlan, 'episode'> & { readonly from: BranchPoint }
}

/** One finished evaluation. */
export interface EvaluationSummary {
  readonly suite: string
  readonly version: number
  /** Share of episodes that reached full reward, in [0, 1]. */
  readonly success: number
  /** The suite's measure, where it is another than success. */
  readonly measured?: JudgedFigure | undefined
  /** Episodes that ended with a reward. */
  readonly n: number
  /** Episodes that were to be played. */
  readonly planned: number
  /** Episodes without a reward by outcome; absent where it is not known, as in a run's own state: there it is `planned` − `n` in all. */
  readonly lost?: LostEpisodes
  /** 95 % interval of the success, where instances have several samples; else it follows from n. */
  readonly interval?: { readonly low: number; readonly high: number }
  /** Pass rates by k, where instances have several samples. */
  readonly passAt?: Readonly<Record<string, number>>
}

/** The expert's result on a suite of its task. */
export interface ExpertSummary {
  readonly suite: string
  /** Share of instances, in [0, 1]. */
  readonly success: number
  readonly n: number
}

/** An evaluation that ended without a result each time that it was done. */
export interface FailedEvaluation {
  readonly suite: string
  readonly version: number
  /** Why, in words. */
  readonly reason: string
}

/** Parts of a warm start. */
export interface WarmStartProgress {
  readonly done: number
  readonly total: number
  /** Whether it was made before, and found in the cache. */
  readonly found?: boolean
}

/** Work of a run whose last attempt failed, or that has not answered yet. */
export interface FailingWork {
  /** Name of the activity, or `environment`. */
  readonly work: string
  readonly reason: string
  /** 0 where none has failed yet. */
  readonly attempt: number
}

/** A run's answer to the `progress` query. */
export interface RunProgress {
  readonly run: string
  readonly phase: RunPhase
  readonly version: number
  readonly step: number
  readonly updates: number
  readonly warmStart?: WarmStartProgress
  readonly episodesInFlight: number
  readonly groupsInFlight: number
  readonly groupsReady: number
  /** Mean staleness of the last update's groups, in versions. */
  readonly staleness: number
  readonly episodes: number
  readonly tokens: number
  /** Figures of the last update, per task. */
  readonly success: Readonly<Record<string, number>>
  readonly reward: Readonly<Record<string, number>>
  /** Episodes of the last update, per task. */
  readonly samples: Readonly<Record<string, number>>
  readonly evaluations: readonly EvaluationSummary[]
  /** Experts' results on suites whose task has an expert, from the store; absent where there are none. */
  readonly experts?: readonly ExpertSummary[]
  /** The latest; absent where there are none. */
  readonly failedEvaluations?: readonly FailedEvaluation[]
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  /** Updates that had nothing to learn from. */
  readonly emptyUpdates: number
  /** The latest updates, where they had nothing to learn from. */
  readonly nothingLearnt?: Standstill
  readonly message?: string
  /** Why it is paused, if the order gave a reason, and how to continue it. */
  readonly pauseReason?: string
  /** Number of instances on which groups could not be played, with the latest reason; absent where there are none. */
  readonly leftOut?: { readonly count: number; readonly reason: string }
  /** Work that is retried because it failed or has not answered, from the store and the server; absent when there is none. */
  readonly failing?: readonly FailingWork[]
  /** A reason why the run will stop unless a person acts, e.g. a disk that is almost full. */
  readonly warning?: string
}

/** Learning settings that may change while the run is in progress. */
export type LearningChange = { readonly [Name in LiveNames<'learning'>]?: number }

/** How many groups may be in flight, and how old they may grow; null: as many as the staleness bound allows. */
export interface RolloutChange {
  readonly maxStaleness?: number
  readonly groupsInFlight?: number | null
}

/** New values by their keys in a configuration, e.g. `learning.learningRate`; all of them or none. */
export type SettingsChange = Readonly<Record<string, number | null>>

/** Failure type of an order that arrives while the run restarts from the store; the sender gives it again. */
export const runRestarts = 'RunRestarts'

/** The sender of an order, for the audit trail. */
export interface Order {
  readonly by?: string
  /** Why, in words. */
  readonly reason?: string
}

/** One run of an experiment. */
export interface ExperimentRun {
  readonly run: RunId
  readonly arm: string
  readonly seed: number
  /** The arm whose configuration it has, where that is a chosen point; its own by default. */
  readonly point?: string
  /** Runs of one number have the same warm start: the first makes it, the others find it. */
  readonly warmStart: number
}

/** An experiment: references, no configurations. */
export interface ExperimentPlan {
  readonly experiment: ExperimentName
  /** In the order in which they begin. */
  readonly runs: readonly ExperimentRun[]
  /** How many are in progress at once. */
  readonly parallel: number
  /** Where `perdure ui` serves the page of the home; absent where that is not known. */
  readonly dashboardUrl?: string
  /** Runs that have ended without being done and are to go on. */
  readonly again?: readonly RunId[]
}

/** How a run of an experiment ended; `lost` is one whose execution was ended from outside. */
export interface ExperimentRunEnding {
  readonly run: RunId
  readonly status: 'done' | 'stopped' | 'failed' | 'lost'
}

/** An experiment is continued: runs that have ended without being done go on when their turn comes. */
export const continueExperiment = defineSignal<[{ readonly parallel: number }]>('continueExperiment')

/** A group ended; the sender repeats it until the run has it. */
export const groupEnded = defineSignal<[GroupReport]>('groupEnded')
/** An evaluation ended. */
export const evaluationEnded = defineSignal<[EvaluationSummary]>('evaluationEnded')
/** A request to continue the run: it checks at once what is in flight. */
export const lookAround = defineSignal('lookAround')
export const progress = defineQuery<RunProgress>('progress')

// The answer to each order below comes once it is in the audit trail, with its effect by then.

/** No update starts and no group is admitted until `resume`. */
export const pause = defineUpdate<RunPhase, [Order]>('pause')
export const resume = defineUpdate<RunPhase, [Order]>('resume')
/** The run ends after the update in progress, or without waiting for it; the answer means that the run will stop. */
export const stop = defineUpdate<RunPhase, [Order & { readonly now?: boolean }]>('stop')
/** New values of live settings, all of them or none; those of learning hold from the next update on. */
export const changeSettings = defineUpdate<void, [SettingsChange, Order]>('changeSettings')
/** Starts an evaluation of the current version beside the training. */
export const evaluateNow = defineUpdate<EvaluationId, [Order & { readonly suite: string }]>('evaluateNow')
/** Keeps the checkpoint of the current version whatever else is deleted; answers with the version. */
export const checkpointNow = defineUpdate<number, [Order]>('checkpointNow')
/** After the update in progress the run continues from that version's weights, as a new version. */
export const rollBack = defineUpdate<void, [Order & { readonly version: number }]>('rollBack')
