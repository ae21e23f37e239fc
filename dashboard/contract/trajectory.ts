/**
 * A trajectory: an episode turn by turn, and token by token.
 *
 * Invariants
 * - The tokens of all turns in their order are those that the policy read and sampled, and the
 *   texts of all tokens joined are what it read and wrote.
 * - [SHOWN-ADVANTAGE-1] Where turns or tokens have advantages of their own, each token has its turn's or its own, and none the mean.
 */
import type { TurnAdvantage } from '../../learning/algorithms/algorithm.ts'
import type { VersionSpan } from '../../learning/run/version-spans.ts'
import type { JsonObject, Message, ToolSpec } from '../../messages/message.ts'
import type { EpisodeRow } from './episodes.ts'

export interface TrajectoryAnswer {
  readonly row: EpisodeRow
  /** The reward of the environment, over all turns. */
  readonly paid: number
  /** In their order. Empty where retention removed them. */
  readonly turns: readonly TrajectoryTurn[]
  /** The observation after the last action. */
  readonly ending?: Observation
  /** The last words that the agent's own program wrote; absent where it has none. */
  readonly output?: string
  /** The learning signal of the update; absent where none has learnt from it. */
  readonly learnt?: TrajectoryLearnt
  /** Step of the update that consumed its group, where that update left no record of what it learnt. */
  readonly notKept?: number
  /** False where no kept checkpoint has the run's tokenizer: then tokens have no text. */
  readonly hasTexts: boolean
  /** Whether it can be played on from its turns, and where not, why. */
  readonly branching: { readonly isPossible: boolean; readonly because?: string }
  /** The command by which a person plays its instance. */
  readonly play: string
  /** Its neighbours among the samples of its parent. */
  readonly before: string | null
  readonly after: string | null
  readonly temporal?: string
  /** A fault that its seal shows: it is not what was stored. */
  readonly damaged?: string
}

export interface TrajectoryLearnt {
  /** Step of the update. */
  readonly update: number
  /** The version that it published. */
  readonly version: number
  /** The advantage of all its action tokens; the mean of its turns, or of their tokens, where each has its own. */
  readonly advantage: number
  /** [turns] where turns or tokens have advantages of their own. */
  readonly turns?: readonly TurnAdvantage[]
  /** The weight of each of them in the loss, where weights differ. */
  readonly weight?: number
  /** How much the likelihood of each of them counts besides, where the episode is imitated. */
  readonly imitation?: number
  /** [turns] what the update found of the sampled tokens; absent where its trainer has not written that, or it is not kept. */
  readonly found?: readonly FoundTokens[]
  /** The batch file, and the place of the episode's first token in it. */
  readonly batch: { readonly file: string; readonly begin: number }
  /** [turns] where each turn's sampled tokens begin, from there on; null for a turn that is not learnt. Absent: as in the episode. */
  readonly places?: readonly (number | null)[]
}

/** [sampled tokens of a turn] each, before the update's first optimizer step. */
export interface FoundTokens {
  /** How likely the token was under the policy that was updated, as a multiple of how likely it was when it was sampled. */
  readonly ratios: readonly number[]
  /** The entropy of the updated policy's distribution at the token, in nats. */
  readonly entropies: readonly number[]
}

/** The time of a half of a turn: its sampling, or the environment's answer. */
export interface TurnTime {
  readonly seconds: number
  /** Which try of the work stored it, from 1 on. */
  readonly attempt: number
}

/** The answer of a model to a question of the environment. */
export interface ShownAnswer {
  readonly role: string
  /** `policy`, or the address of an endpoint. */
  readonly source: string
  readonly model: string
  /** In their order. */
  readonly messages: readonly { readonly role: string; readonly content: string }[]
  readonly text: string
  readonly seconds: number
  /** Tokens that were read and written. */
  readonly tokens: number
  /** Tries before it that gave no answer, each in words. */
  readonly faults: readonly string[]
}

export interface Observation {
  readonly messages: readonly Message[]
  readonly reward: number
  readonly done: boolean
  /** The environment's own facts. */
  readonly info: JsonObject
  /** Where they differ from the turn before. */
  readonly tools?: readonly ToolSpec[]
  /** Answers of models that it follows from; absent without any. */
  readonly answers?: readonly ShownAnswer[]
  /** Absent where it was not measured, as in turns that a branch begins with. */
  readonly took?: TurnTime
}

/** The agent's observation, and its action. */
export interface TrajectoryTurn {
  readonly turn: number
  readonly observation: Observation
  /** Absent for a turn that is being played. */
  readonly action?: TrajectoryAction
}

export interface TrajectoryAction {
  readonly message: Extract<Message, { readonly role: 'assistant' }>
  /** The unusable parts of it. */
  readonly problems: readonly string[]
  /** Whether the environment could not use it. */
  readonly invalid: boolean
  readonly finish: 'stop' | 'length'
  /** That sampled its first token, and all of them where there are no spans. */
  readonly version: number
  /** All sampled tokens by version, in their order; absent where one sampled them all. */
  readonly spans?: readonly VersionSpan[]
  /** Whether it was drawn from the pool of older versions; null where that is not known. */
  readonly stale: boolean | null
  /** Absent where it was not measured. */
  readonly took?: TurnTime
  /** How the agent's own program asked for it; absent where the environment plays. */
  readonly asked?: ShownRequest
  /** Position of the first prompt token among the tokens of the episode. */
  readonly begin: number
  /** Read since the action before. */
  readonly prompt: Tokens
  readonly sampled: Tokens & {
    /** [tokens] behaviour logprobs, in nats. */
    readonly logprobs: readonly number[]
  }
}

/** How an agent's own program asked for a turn. */
export interface ShownRequest {
  /** Its branch of the episode, from 0 on. */
  readonly branch: number
  /** The turn after which its prompt comes; −1 where it begins the conversation. */
  readonly follows: number
  /** Path of the API. */
  readonly form: string
}

/** [tokens] each. A character that several tokens spell is placed at the last of them, the others are empty. */
export interface Tokens {
  readonly ids: readonly number[]
  /** Empty where `hasTexts` is false. */
  readonly texts: readonly string[]
}

/** The body of a request for a branch. */
export interface BranchWish {
  /** The first turn that is played again, from 0. */
  readonly turn: number
  /** 1 by default, at most 64. */
  readonly samples?: number
  /** The version that plays on; the run's newest by default. */
  readonly version?: number
}

/** It has begun; what it plays appears in `BranchesAnswer`. */
export interface BranchStarted {
  readonly episode: string
  readonly turn: number
}

export interface BranchRow {
  /** e.g. `first/g3/s0/a0/b2-v5`. */
  readonly branch: string
  readonly turn: number
  readonly version: number
  readonly samples: readonly EpisodeRow[]
}

export interface BranchesAnswer {
  readonly branches: readonly BranchRow[]
  /** Asked for from this page, and not yet over or ended with a fault. */
  readonly asked: readonly {
    readonly turn: number
    readonly samples: number
    readonly state: 'playing' | 'failed'
    /** Why it failed. */
    readonly reason?: string
  }[]
}

/** The advantage of a token. @param index among those sampled in the turn */
export function advantageAt({ advantage, turns }: TrajectoryLearnt, turn: number, index: number): number {
  const own = turns === undefined ? advantage : turns[turn]
  return (typeof own === 'object' ? own[index] : own) ?? Number.NaN
}

/** The least and the largest of an episode; equal where all its tokens have one. */
export function advantageSpan({
  advantage,
  turns = [advantage],
}: TrajectoryLearnt): readonly [number, number] {
  return [Math.min(...turns.flat()), Math.max(...turns.flat())]
}
