/**
 * Fruitless groups: groups in a row that ended without a result, and how long a run waits because of them.
 *
 * Invariants
 * - Pure: the same state gives the same seconds and the same words.
 */
import { rolloutSettings, type TrainingState } from '../../contract/training-state.ts'

/** Fewer groups without a result may be chance. */
const leastFruitless = 8
const firstHoldOffSeconds = 10
const longestHoldOffSeconds = 600

/**
 * How long no group is started, once as many groups in a row have ended without a result as may be in flight at once.
 * @returns 0 while groups may start; doubled with each further round of such groups
 */
export function holdOffSeconds(state: TrainingState): number {
  const rounds = Math.floor(state.fruitless / roundOf(state))
  return rounds === 0 ? 0 : Math.min(longestHoldOffSeconds, firstHoldOffSeconds * 2 ** (rounds - 1))
}

/** Number of groups that may be in flight at once. */
function roundOf(state: TrainingState): number {
  const { maxStaleness, groupsPerUpdate } = rolloutSettings(state)
  return Math.max(leastFruitless, (maxStaleness + 1) * groupsPerUpdate)
}

/** Why no instance can be played any more; undefined while some may: an environment that fails on every instance stays broken. */
export function unplayableWords(state: TrainingState): string | undefined {
  const { leftOut } = state
  if (leftOut === undefined || leftOut.inARow < roundOf(state)) return undefined
  return `no instance can be played: the last ${leftOut.inARow} groups failed by the environment's own doing, the latest so: ${leftOut.reason}`
}

/** The reason why a run starts fewer groups, in words. */
export function fruitlessWords({ run, fruitless }: TrainingState): string {
  return `the last ${fruitless} groups ended without a result, so new ones start less often; their episodes say why, and once the cause is repaired \`perdure continue ${run}\` starts them at once`
}
