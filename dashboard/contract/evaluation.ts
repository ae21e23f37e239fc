/** Evaluations of a run, and the gates that judge them. */
import type { LostEpisodes } from '../../learning/evaluation/evaluation-completeness.ts'
import type { JudgedFigure } from '../../learning/evaluation/judgement.ts'
import type { Estimate } from '../../learning/evaluation/measure.ts'

export interface EvaluationRow {
  /** e.g. `first/e-held_out-v20-1`: its episodes are those of a group of this id. */
  readonly id: string
  readonly suite: string
  readonly version: number
  /** The update that made the version, or after which a roll-back did; 0 for the warm start. */
  readonly step: number
  readonly seed: number
  readonly created: number
  readonly ended?: number
  /** Why it was given up. */
  readonly failure?: string
  /** Absent until it has ended; while it is played again, what the earlier play found. */
  readonly found?: {
    /** Share of the n episodes that succeeded, with its 95 % interval. */
    readonly success: Estimate
    /** Episodes that ended with a reward, those that were to be played, and by outcome those without a reward. */
    readonly n: number
    readonly planned: number
    readonly lost: LostEpisodes
    readonly instances: number
    /** The suite's measure, where it is another than success. */
    readonly measured?: JudgedFigure | undefined
    /** Means over the episodes, each with its 95 % interval: the measures of every task, and the metrics of this one. */
    readonly means: readonly JudgedFigure[]
    /** By k, where instances have several samples. */
    readonly passAt: Readonly<Record<string, Estimate>>
  }
}

export interface GateRow {
  readonly suite: string
  /** Largest loss that it allows. */
  readonly drop: number
  readonly confidence: number
  readonly against: 'best' | 'last'
  readonly action: 'pause' | 'rollback'
  /** When it closed, from the audit trail. */
  readonly closed: readonly {
    readonly time: number
    readonly version: number
    readonly what: string
    readonly reason: string
  }[]
}

/** The result of a task's expert on a suite. */
export interface ExpertRow {
  readonly suite: string
  /** Share of the n instances that it wins, with its 95 % interval. */
  readonly success: Estimate
  readonly n: number
}

export interface EvaluationsAnswer {
  /** By suite, as the configuration orders them; those of one suite in the order in which they started. */
  readonly evaluations: readonly EvaluationRow[]
  /** The experts of the suites whose task has one. */
  readonly experts: readonly ExpertRow[]
  readonly gates: readonly GateRow[]
}
