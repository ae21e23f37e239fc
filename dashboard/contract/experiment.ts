/** Experiments: what was stated before they ran, what their arms reached, and what that says of the claims. */

import type { ClaimedDifference, Judgement, PairedTest, TestKind } from '../../learning/claims/hypothesis.ts'
import type { DeclaredMetric } from '../../learning/evaluation/measure.ts'
import type { Budget } from '../../learning/run/budget.ts'
import type { RunStatus } from '../../learning/run/run-phase.ts'
import type { Interval } from '../../learning/statistics/interval.ts'

export interface ExperimentsAnswer {
  /** The latest first. */
  readonly experiments: readonly ExperimentRow[]
}

export interface ExperimentRow {
  readonly experiment: string
  readonly question?: string
  readonly arms: readonly string[]
  readonly runs: number
  readonly done: number
  readonly created: number
  /** When the last of its runs had ended. */
  readonly ended?: number
}

/** A mean over seeds; with its 95 % interval from two seeds on. */
export interface MeanOverSeeds extends Partial<Interval> {
  readonly mean: number
  readonly seeds: number
}

export interface ExperimentAnswer extends ExperimentRow {
  readonly seeds: readonly number[]
  /** The number that arms and claims are about. */
  readonly measure: string
  /** How it is read, where it is a metric of the task. */
  readonly metric?: DeclaredMetric
  readonly test: TestKind
  /** The level of all claims together. */
  readonly level: number
  readonly suites: readonly {
    readonly suite: string
    readonly arms: readonly ArmOnSuite[]
    readonly curves: readonly ArmCurve[]
  }[]
  /** [arms] What a run of each took in the mean; null until one is done. */
  readonly costs: readonly (ArmCost | null)[]
  readonly claims: readonly ExperimentClaim[]
  readonly plays: readonly ExperimentRun[]
  /** Its page of the Temporal UI. */
  readonly temporal?: string
}

export interface ArmCost {
  readonly seconds: number
  /** Absent where no process measured it. */
  readonly cpuSeconds?: number
  /** Sampled by the policy. */
  readonly actionTokens: number
}

export interface ArmOnSuite {
  readonly arm: string
  /** Null until a run is done. */
  readonly value: MeanOverSeeds | null
  /** [seeds] null where there is none. */
  readonly bySeed: readonly (number | null)[]
}

export interface ArmCurve {
  /** One of the arms, or what they are seen beside. */
  readonly arm: string
  readonly points: readonly (MeanOverSeeds & { readonly version: number })[]
}

/** A claim of the statement, with its figures as far as its runs are done. */
export interface ExperimentClaim
  extends Judgement,
    ClaimedDifference,
    Pick<Partial<PairedTest>, 'difference' | 't' | 'bootstrap' | 'signFlip'> {
  readonly name: string
  readonly on: readonly string[]
  readonly better: string
  readonly than: string
  /** The budget within which the policies are compared. */
  readonly at?: Budget
  /** With looks that were stated: the seeds over which it is judged. */
  readonly look?: number
  /** Seeds of which a run is not done. */
  readonly missing: readonly number[]
  readonly instances: number
}

export interface ExperimentRun {
  readonly run: string
  readonly arm: string
  readonly seed: number
  readonly status: RunStatus | 'waiting'
  /** Evaluations that lost too many episodes to count. */
  readonly incomplete: readonly {
    readonly suite: string
    readonly version: number
    readonly n: number
    readonly planned: number
  }[]
}
