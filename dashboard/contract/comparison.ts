/** Policies beside one another, on the suites that they share. */

import type { JudgedFigure } from '../../learning/evaluation/judgement.ts'
import type { Estimate, Measure } from '../../learning/evaluation/measure.ts'
import type { SuccessDifference } from '../../learning/statistics/paired-difference.ts'
import type { SettingValue } from './run.ts'

/** A run, or one version of it. */
export interface PolicyName {
  readonly run: string
  readonly version?: number
}

export const mostPolicies = 10

export interface ComparisonAnswer {
  /** In the order asked for; the first is the reference. */
  readonly policies: readonly PolicyName[]
  readonly suites: readonly SuiteBeside[]
  /** Keys in which the configurations differ. @see values [policies] */
  readonly differences: readonly {
    readonly key: string
    readonly values: readonly SettingValue[]
  }[]
}

export interface SuiteBeside {
  readonly suite: string
  /** [policies] null where the policy was not measured on the suite. */
  readonly findings: readonly (PolicyFinding | null)[]
}

export interface PolicyFinding {
  readonly version: number
  /** Episodes that ended with a reward, and those that were to be played. */
  readonly n: number
  readonly planned: number
  readonly success: Estimate
  /** The suite's measure, where it is another than success. */
  readonly measured?: JudgedFigure | undefined
  /** The measure of the difference. */
  readonly measure?: Pick<Measure, 'words' | 'isShare' | 'unit'>
  /** Instances that the reference has played too, and the difference to it; absent for the reference. */
  readonly instances: number
  readonly paired?: SuccessDifference['paired']
  readonly unpaired?: SuccessDifference['unpaired']
}
