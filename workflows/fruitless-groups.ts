/**
 * Fruitless groups: those in a row that ended without a result, and how long a run holds off because of them.
 *
 * Invariants
 * - Pure: the same state gives the same seconds and the same words.
 */
import { rolloutSettings } from './rollout-settings.ts'
import type { TrainingState } from './training-state.ts'

/** Fewer groups without a result are no sign of anything. */
const leastFruitless = 8
const firstHoldOffSeconds = 10
const longestHoldOffSeconds = 600

/**
 * How long no group is started, after as many in a row have ended without a result as may be on their way at once.
 * @returns 0 while groups may start; doubled with each further round of such groups
 */
export function holdOffSeconds(state: TrainingState): number {
  const { maxStaleness, groupsPerUpdate } = rolloutSettings(state)
  const round = Math.max(leastFruitless, (maxStaleness + 1) * groupsPerUpdate)
  const rounds = Math.floor(state.fruitless / round)
  return rounds === 0 ? 0 : Math.min(longestHoldOffSeconds, firstHoldOffSeconds * 2 ** (rounds - 1))
}

/** What holds a run off, in words. */
export function fruitlessWords({ run, fruitless }: TrainingState): string {
  return `the last ${fruitless} groups ended without a result, so new ones start less often; their episodes say why, and once the cause is repaired \`perdure continue ${run}\` starts them at once`
}
