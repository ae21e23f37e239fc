/**
 * The size of the state that a run carries, which has a bound: the state goes through Temporal with every publication.
 *
 * Invariants
 * - The complaint names the key that takes up most, and its largest allowed value.
 */
import {
  largestState,
  mostOutstanding,
  mostStateBytes,
  stateShares,
} from '../../learning/run/state-bounds.ts'
import type { Contradiction } from '../schema/consistency.ts'
import type { RunConfig } from '../schema/schema.ts'

/** Why a run of this configuration could carry too much; undefined where it cannot. */
export function oversize(config: RunConfig): Contradiction | undefined {
  const bytes = largestState(config)
  if (bytes <= mostStateBytes) return undefined
  const { groups, tasks, suites } = stateShares(config)
  const over = `a run carries at most ${mostStateBytes} bytes from one execution to the next, and with this configuration it might be ${bytes}`
  if (groups >= Math.max(tasks, suites)) {
    const { groupsPerUpdate, maxStaleness } = config.rollout
    const most = mostOutstanding(config)
    return {
      path: ['rollout', 'groupsPerUpdate'],
      value: groupsPerUpdate,
      message: `so few groups that (rollout.maxStaleness + 1) × rollout.groupsPerUpdate, now ${(maxStaleness + 1) * groupsPerUpdate}, is at most ${most}: ${over}`,
    }
  }
  if (suites >= tasks) {
    const { length } = config.evaluation.suites
    return {
      path: ['evaluation', 'suites'],
      value: `${length} suites`,
      message: `fewer suites and gates, or shorter names: ${over}`,
    }
  }
  const sizes = config.tasks.map((task) => JSON.stringify(task).length)
  const index = sizes.indexOf(Math.max(...sizes))
  return {
    path: ['tasks', index],
    value: config.tasks[index]?.task ?? '',
    message: `shorter settings, e.g. the path of a file in the place of what it holds: ${over}`,
  }
}
