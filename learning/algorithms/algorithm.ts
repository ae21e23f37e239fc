/**
 * An algorithm of reinforcement learning: how it compares the episodes of a batch, the loss of a sampled token, and
 * which optimizer steps it takes.
 *
 * Each algorithm that comes with Perdure is one file beside this one, to be read from top to bottom; `algorithms.ts` lists them by
 * name. One of a user is such a file too, by its path. Step groups, task normalization, negative weight and task weighting wrap the
 * advantages of any algorithm (`batch-plan.ts`). The loss says its derivative, which the trainer multiplies with the gradient of the
 * token's log-probability: so no algorithm has to write a graph, and the reference term and the entropy bonus are added as always.
 */

import type { TokenLoss, TokenObjective } from '../loss/objective.ts'

/** Pure functions: no time, randomness or I/O, so that an update that is done again has the same bytes. */
export interface Algorithm {
  readonly name: string
  /**
   * The advantages of a batch, before any wrapper.
   * @param groups [groups] all groups that the update learns from
   * @returns [groups][group] as the groups and their episodes stand there
   */
  readonly advantagesOf: (
    groups: readonly ComparedGroup[],
    settings: AdvantageSettings,
  ) => readonly (readonly EpisodeAdvantage[])[]
  /** Whether turns have advantages of their own, so that a group of equal rewards may teach something; absent: they have none. */
  readonly comparesTurns?: boolean
  /** Whether each group teaches something, whatever its rewards; absent: only one with a preference. */
  readonly ignoresRewards?: boolean
  /** Whether it reads groups of earlier updates beside those of this one; absent: it does not. */
  readonly readsEarlier?: boolean
  /**
   * The targets of an episode's learnt values, [turns], which the update fits them to: with it each turn has its `value` before
   * (`turns/turn-ppo.ts`); absent: turns have none.
   */
  readonly valueTargetsOf?: (episode: ComparedEpisode, settings: AdvantageSettings) => readonly number[]
  /** Whether advantages, with those of steps, are normalized over the action tokens of the whole batch; absent: they are not. */
  readonly normalizesBatch?: boolean
  readonly loss: SequenceLoss
  /** Whether the entropy bonus of its tokens keeps their entropy near that of the last updates (`losses/epo.ts`); absent: it does not. */
  readonly smoothsEntropy?: boolean
  /** Whether a step of the optimizer is left out, or `rest`: with all after it, by what its minibatch shows; absent: all are taken. */
  readonly rejects?: (step: StepFigures) => Rejection
}

/** The settings that a comparison may read. */
export interface AdvantageSettings {
  /** γ, what a reward counts one turn earlier: `learning.stepGroups.discount`. */
  readonly discount: number
  /** Where the algorithm reads earlier groups: those of the last `learning.replay.maxAge` updates, of instances in this one; nothing is
   * learnt from them. */
  readonly earlier?: readonly ComparedGroup[]
}

/** Whether a step is left out; `rest`: it and all after it in the update. */
export type Rejection = boolean | 'rest'

/** The figures of a minibatch: means over its action tokens. */
export interface StepFigures {
  /** Before the gradient is clipped. */
  readonly gradientNorm: number
  /** That of the output matrix alone, or of the embeddings where they are tied; of all that is trained with an adapter. */
  readonly headNorm: number
  /** `headNorm` of the steps before it in the update. */
  readonly earlierNorms: readonly number[]
  /** The pass over the episodes that it belongs to, from 0. */
  readonly pass: number
  readonly loss: number
  /** Divergence from the version that sampled a token, from the reference, and from the version that the update starts from. */
  readonly kl: number
  readonly referenceKl: number
  readonly drift: number
  readonly entropy: number
  readonly clipFraction: number
  readonly actionTokens: number
}

/** The policy part of the loss of an episode's tokens. */
export interface SequenceLoss {
  /** @param tokens [time] sampled tokens of one episode @returns [time] */
  readonly lossesOf: (tokens: readonly LossToken[], settings: LossSettings) => readonly TokenLoss[]
  /** Whether its tokens have a `referenceLogprob`, also where `learning.klCoefficient` is 0; absent: only where it is not. */
  readonly readsReference?: boolean
}

/** Episodes of one instance, which are compared with one another. */
export interface ComparedGroup {
  readonly task: string
  /** Names the instance within its task; absent where it is not known. */
  readonly instance?: string
  /** [group] */
  readonly episodes: readonly ComparedEpisode[]
}

export interface ComparedEpisode {
  /** The reward that learning compares: the environment's, or the penalty for not completing. */
  readonly reward: number
  /** Whether that is at least the task's `success.atLeast`. */
  readonly success: boolean
  readonly completed: boolean
  /** Whether what its turns were paid is part of its reward: it completed, or its task has `notCompleted: keep` or `add`. */
  readonly keepsPay: boolean
  readonly actionTokens: number
  readonly turns: readonly ComparedTurn[]
}

export interface ComparedTurn {
  /** The environment's reward for it. */
  readonly reward: number
  /** Tokens that the policy sampled. */
  readonly actionTokens: number
  /** The exact state that it began in, where the environment names it. */
  readonly state?: string
  /** The learnt value of its context, where the algorithm reads values. */
  readonly value?: number
}

/** The advantage of an episode: one number for all of its action tokens, or [turns]. */
export type EpisodeAdvantage = number | readonly TurnAdvantage[]
/** The advantage of a turn: one number for all of its action tokens, or [tokens]. */
export type TurnAdvantage = number | readonly number[]

/** A sampled token. Logarithms are natural, at the temperature of sampling. */
export interface LossToken {
  readonly logprob: number
  /** The logprob under the version that sampled it. */
  readonly behaviourLogprob: number
  /** The logprob that ratios divide by: of the version that the update starts from with `learning.proximal: start`, else of the sampler. */
  readonly proximalLogprob: number
  /** The logprob under the version that the update starts from. */
  readonly startLogprob: number
  /** The logprob under the reference policy, where that is read. */
  readonly referenceLogprob?: number
  /** With `learning.proximal: start` its importance weight is part of it. */
  readonly advantage: number
  /** Whether its turn was drawn from the pool of older versions. */
  readonly stale: boolean
}

/** The current settings that a loss may read. */
export type LossSettings = Pick<TokenObjective, 'clipLow' | 'clipHigh' | 'dualClip'>
