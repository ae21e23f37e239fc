/**
 * Learnt episodes: the record that an update leaves of its learning signal.
 *
 * Invariants
 * - [LEARNT-EPISODE-1] The record holds the numbers that the trainer read, as 32-bit floats, for every episode of the batch in its order.
 *   The page and the export read it and compute none of them again.
 */
import type { EpisodeId } from '../../identity/identity.ts'
import type { TurnAdvantage } from '../../learning/algorithms/algorithm.ts'
import { shortestFloat32 } from '../tables/codec.ts'

export interface LearntEpisode {
  readonly episode: EpisodeId
  /** `replayed`: its group belongs to an earlier update. */
  readonly source: 'played' | 'replayed'
  /** How many tokens it has in the batch. */
  readonly tokens: number
  /** [turns] */
  readonly advantages: readonly TurnAdvantage[]
  /** How much each of its action tokens counts in the policy loss; 1 where all count alike. */
  readonly weight: number
  /** How much the negative log-likelihood of each of its action tokens counts besides. */
  readonly imitation: number
}

/** The JSON of a record, with as many digits as a 32-bit float has. */
export function learntText(episodes: readonly LearntEpisode[]): string {
  const float32 = (value: number) => shortestFloat32(Math.fround(value))
  return JSON.stringify(
    episodes.map(({ advantages, weight, imitation, ...episode }) => ({
      ...episode,
      advantages: advantages.map((turn) => (typeof turn === 'number' ? float32(turn) : turn.map(float32))),
      weight: float32(weight),
      imitation: float32(imitation),
    })),
  )
}
