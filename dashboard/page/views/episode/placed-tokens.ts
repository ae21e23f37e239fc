/**
 * Tokens of a trajectory, each with its place and all that is known of it.
 *
 * Invariants
 * - [PLACED-1] Positions count the tokens of the whole episode from 0, read and sampled alike, without a gap.
 * - [PLACED-2] Every token is found by its position, those that were read as well.
 */
import type { TrajectoryAction, TrajectoryAnswer, TrajectoryLearnt } from '../../../contract/trajectory.ts'

/** A token that the policy read or sampled. */
export interface PlacedToken {
  /** Among all tokens of the episode, from 0. */
  readonly position: number
  readonly turn: number
  /** Among those read before its turn's action, or sampled in its turn, from 0. */
  readonly index: number
  readonly isSampled: boolean
  readonly id: number
  readonly text: string
  /** The logprob under the version that sampled it, in nats; NaN for a token that was read. */
  readonly logprob: number
  readonly action: TrajectoryAction
}

/** The token at a position; undefined where the episode has none. */
export function tokenAt(
  { turns }: Pick<TrajectoryAnswer, 'turns'>,
  position: number,
): PlacedToken | undefined {
  for (const { turn, action } of turns) {
    if (action === undefined) continue
    const { begin, prompt, sampled } = action
    const end = begin + prompt.ids.length + sampled.ids.length
    if (position < begin || position >= end) continue
    return [...readTokensOf(turn, action), ...sampledTokensOf(turn, action)][position - begin]
  }
  return undefined
}

/** Those sampled in a turn. */
export function sampledTokensOf(turn: number, action: TrajectoryAction): readonly PlacedToken[] {
  const { begin, prompt, sampled } = action
  return sampled.ids.map((id, index) => ({
    position: begin + prompt.ids.length + index,
    turn,
    index,
    isSampled: true,
    id,
    text: sampled.texts[index] ?? '',
    logprob: sampled.logprobs[index] ?? Number.NaN,
    action,
  }))
}

/** Those read since the action before. */
export function readTokensOf(turn: number, action: TrajectoryAction): readonly PlacedToken[] {
  const { begin, prompt } = action
  return prompt.ids.map((id, index) => ({
    position: begin + index,
    turn,
    index,
    isSampled: false,
    id,
    text: prompt.texts[index] ?? '',
    logprob: Number.NaN,
    action,
  }))
}

/** Place of a token in the batch of its update; undefined for one of a turn that is not learnt. */
export function batchPlaceOf({ batch, places }: TrajectoryLearnt, token: PlacedToken): number | undefined {
  if (places === undefined) return batch.begin + token.position
  const sampledAt = places[token.turn]
  if (sampledAt == null) return undefined
  const readBefore = token.isSampled ? 0 : token.action.prompt.ids.length
  return batch.begin + sampledAt - readBefore + token.index
}

/** The update's figures of a sampled token; NaN each where they are unknown. */
export function foundOf(
  learnt: TrajectoryLearnt | undefined,
  { turn, index, isSampled }: Pick<PlacedToken, 'turn' | 'index' | 'isSampled'>,
): { readonly ratio: number; readonly entropy: number } {
  const found = isSampled ? learnt?.found?.[turn] : undefined
  return {
    ratio: found?.ratios[index] ?? Number.NaN,
    entropy: found?.entropies[index] ?? Number.NaN,
  }
}
