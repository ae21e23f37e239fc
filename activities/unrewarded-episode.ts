/**
 * Rewards of episodes that learning is about to use.
 *
 * Invariants
 * - [REWARDED-1] An episode without a reward is refused by name: a failed machine never becomes a reward of 0.
 */
import { Fault } from '../faults/fault.ts'
import type { EpisodeId } from '../identity/identity.ts'
import { isRewarded, type Outcome } from '../learning/outcome.ts'

/** An episode whose outcome carries no reward is among those that learning compares. */
export class UnrewardedEpisode extends Fault<'unrewarded'> {
  override readonly name = 'UnrewardedEpisode'
  // What is sealed does not change.
  protected static override readonly permanentKinds = 'all'
}

/** @throws UnrewardedEpisode where it has none */
export function rewardOf(episode: EpisodeId, outcome: Outcome, reward: number | null): number {
  if (isRewarded(outcome) && reward !== null) return reward
  throw new UnrewardedEpisode(
    'unrewarded',
    `episode ${episode} ended with ${outcome}, which carries no reward, so it can take part in no group and no update; its sample is played again under a new attempt`,
  )
}
