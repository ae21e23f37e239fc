/**
 * Lessons of stored groups: whether the turns of one teach something, where its rewards are equal.
 *
 * Invariants
 * - Trajectories are read only where the rewards do not tell, and turns may.
 */
import type { RunConfig } from '../../config/schema/schema.ts'
import { rewardRules } from '../../learning/evaluation/reward.ts'
import { groupTeaches, teaches, turnsMayTeach } from '../../learning/rollout/refill.ts'
import type { GroupResult, StoredGroup } from '../../storage/records/groups.ts'
import type { Episodes } from '../../storage/trajectories/episodes.ts'
import type { Trajectory } from '../../storage/trajectories/trajectory.ts'
import { batchGroup } from './batch-figures.ts'

/**
 * Whether a group teaches something by its turns alone.
 * @throws StorageFault `missing`, `corrupt`
 */
export async function turnsTeach(
  store: Pick<Episodes, 'trajectory'>,
  { task, episodes, rewards }: Pick<StoredGroup, 'task'> & Pick<GroupResult, 'episodes' | 'rewards'>,
  config: Pick<RunConfig, 'tasks' | 'learning'>,
): Promise<boolean> {
  const rules = rewardRules(config, task)
  if (rewards.length === 0 || teaches(rewards, config.learning, rules) || !turnsMayTeach(config.learning))
    return false
  const played: Trajectory[] = []
  for (const id of episodes) played.push(await store.trajectory(id, config.learning.branches))
  return groupTeaches(batchGroup(task, played, rules), config.learning)
}
