/**
 * The rewards that an environment may pay.
 *
 * Invariants
 * - [REWARD-BOUNDS-1] A reward that is no finite number from −1e6 to 1e6 is refused by name before anything uses it: larger ones
 *   overflow what learning computes from them, and no task means them.
 */
import { EnvironmentFault } from './environment.ts'

const largestReward = 1e6

/** @param payer names the code that paid it @throws EnvironmentFault `bad_data`: trying again would pay the same */
export function checkReward(payer: string, reward: unknown): void {
  if (typeof reward === 'number' && Math.abs(reward) <= largestReward) return
  throw new EnvironmentFault(
    'bad_data',
    `${payer} paid the reward ${String(reward)}: a reward is a number from -${largestReward} to ${largestReward}`,
  )
}
