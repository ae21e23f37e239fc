/**
 * An algorithm of reinforcement learning: how it compares the episodes of a group, and the loss of a sampled token.
 *
 * Each algorithm is one file beside this one, to be read from top to bottom; `algorithms.ts` lists them by name. Step groups, task
 * normalization, negative weight and task weighting wrap the advantages of any algorithm (`batch-plan.ts`).
 */

import type { LossSettings } from '../loss/custom-loss.ts'
import type { SampledToken, TokenLoss } from '../loss/objective.ts'
import type { TaskNormalization, WeighedGroup } from './task-normalization.ts'

/** An algorithm that comes with Perdure. */
export interface Algorithm {
  /**
   * The advantage of each episode of a group, for all of its action tokens.
   * @param rewards [group] finite, at least two, not all equal
   * @returns [group], in the order of the rewards; their sum is 0
   */
  readonly advantagesOf: (rewards: readonly number[]) => readonly number[]
  /** Normalizes the advantages of a whole batch before any wrapper does; absent: they stay. @returns [groups][units] */
  readonly normalizedBatch?: (
    groups: readonly WeighedGroup[],
    mode: TaskNormalization,
  ) => readonly (readonly number[])[]
  readonly loss: SequenceLoss
}

/** The policy part of the loss of an episode's tokens. */
export interface SequenceLoss {
  /** @param tokens [time] sampled tokens of one episode @returns [time] */
  readonly lossesOf: (tokens: readonly SampledToken[], settings: LossSettings) => readonly TokenLoss[]
  /** Whether the trainer's graph computes it by itself (`objective-graph.ts`); others take one more run without a gradient. */
  readonly isInGraph: boolean
}
