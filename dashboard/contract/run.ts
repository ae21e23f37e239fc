/** Runs: the list, and all that is said of one beside its curves. */
import type { JudgedFigure } from '../../learning/evaluation/judgement.ts'
import type { Estimate } from '../../learning/evaluation/measure.ts'
import type { RunPhase, RunStatus } from '../../learning/run/run-phase.ts'
import type { JsonValue } from '../../messages/message.ts'

/** A run in one row. */
export interface RunRow {
  readonly run: string
  readonly status: RunStatus
  /** As it last stored itself, with the orders since then. */
  readonly phase: RunPhase
  /** Why it failed, stopped or is paused. */
  readonly detail?: string
  readonly tasks: readonly string[]
  /** Updates done, of all that are planned. */
  readonly step: number
  readonly updates: number
  /** The published one; null before the first. */
  readonly version: number | null
  readonly promoted?: number
  /** Success in the last update, by task. */
  readonly success: Readonly<Record<string, number>>
  /** [at most 60] mean success over the tasks, by stretches of updates: a small curve. */
  readonly curve: readonly number[]
  /** The best and the latest evaluation of each suite. */
  readonly suites: readonly SuiteRow[]
  readonly created: number
  /** When its last update was made, or it began. */
  readonly changed: number
  readonly ended?: number
  readonly episodes: number
  /** Checkpoints, batches, and the trajectories that the store has. */
  readonly bytes: number
}

export interface SuiteRow {
  readonly suite: string
  /** Null where every evaluation is incomplete. */
  readonly best: SuiteFinding | null
  readonly latest: SuiteFinding
}

export interface SuiteFinding {
  readonly version: number
  /** Episodes that ended with a reward, and those that were to be played. */
  readonly n: number
  readonly planned: number
  /** Share that succeeded, with its 95 % interval. */
  readonly success: Estimate
  /** The suite's measure, where it is another than success. */
  readonly measured?: JudgedFigure | undefined
}

export interface RunsAnswer {
  readonly runs: readonly RunRow[]
}

/** A run. */
export interface RunAnswer extends RunRow {
  readonly directory: string
  /** Tokens that updates have learnt from. */
  readonly tokens: number
  /** Episodes by outcome; the unfinished ones under `running`. */
  readonly outcomes: Readonly<Record<string, number>>
  /** Updates that had nothing to learn from. */
  readonly emptyUpdates: number
  /** The reason why the policy does not learn, in words; absent while it learns. */
  readonly standstill?: string
  /** Sentences on retried work and on instances that are left out; absent when there are none. */
  readonly failing?: readonly string[]
  readonly versions: readonly VersionRow[]
  readonly configuration: RunConfiguration
  readonly audit: readonly AuditMark[]
  readonly disk: {
    readonly trajectories: number
    readonly checkpoints: number
    readonly batches: number
    readonly metrics: number
  }
  /** The run's page of the Temporal UI. */
  readonly temporal?: string
}

export interface RunConfiguration {
  /** The whole of it, by section. */
  readonly values: { readonly [key: string]: JsonValue }
  /** Where it is not the default. */
  readonly differences: readonly Difference[]
  /** Keys that an order may change while the run is in progress, with what is allowed. */
  readonly live: readonly LiveSetting[]
}

export interface LiveSetting {
  /** e.g. `learning.learningRate`. */
  readonly key: string
  readonly value: number | null
  /** In words, e.g. `number above 0, at most 1`. */
  readonly allowed: string
  readonly description: string
}

/** A checkpoint that is kept. */
export interface VersionRow {
  readonly version: number
  readonly bytes: number
  /** When it was written. */
  readonly time: number
  readonly promoted: boolean
}

/** The audit trail: who ordered what of a run, and when it held. */
export interface AuditMark {
  readonly number: number
  readonly time: number
  /** A person, a gate or a program. */
  readonly by: string
  /** `pause`, `continue`, `stop`, `evaluate`, `checkpoint`, `rollback`, `promote`, or the key of a setting. */
  readonly what: string
  readonly from: SettingValue
  readonly to: SettingValue
  /** The version that was current. */
  readonly version: number
  /** The version from which on it held; null while it waits. */
  readonly effectVersion: number | null
  readonly reason: string | null
  /** Updates that were done then: its place on the curves. */
  readonly step: number
}

/** A key of a configuration whose values differ. */

export type SettingValue = string | number | boolean | null

export interface Difference {
  /** e.g. `rollout.groupSize`. */
  readonly key: string
  /** The default; null where there is none. A list or an object is JSON text. */
  readonly default: SettingValue
  readonly value: SettingValue
}

/** Orders: what the page may ask of a run that is in progress, where it may steer at all. */

/** The body of an order; the run's own validator refuses in words an order that it cannot follow. */
export type Order =
  | { readonly order: 'pause'; readonly reason?: string }
  | { readonly order: 'continue' }
  | { readonly order: 'stop'; readonly now?: boolean }
  /** New values of live settings by their keys, all or none; null takes one away. */
  | { readonly order: 'set'; readonly settings: Readonly<Record<string, number | null>> }
  /** The first suite by default. */
  | { readonly order: 'evaluate'; readonly suite?: string }
  | { readonly order: 'checkpoint' }
  | { readonly order: 'rollback'; readonly version: number }
  /** The version that users take; the best one of the first suite by default. Needs no run in progress. */
  | { readonly order: 'promote'; readonly version?: number }

export interface OrderTaken {
  /** In words, e.g. `evaluation held_out-v12 started`. */
  readonly taken: string
}
