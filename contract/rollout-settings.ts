/**
 * Rollout settings that hold now and bound the admission of groups.
 *
 * Invariants
 * - An order to the running run holds over its configuration.
 */
import type { RunConfig } from '../config/schema/schema.ts'
import { settingsInForce } from '../learning/run/settings-in-force.ts'
import type { RolloutChange } from './messages.ts'

/** @param of the configuration of a run with the orders since */
export function rolloutSettings(of: { readonly config: RunConfig; readonly rollout: RolloutChange }): {
  readonly groupsPerUpdate: number
  readonly maxStaleness: number
  readonly groupsInFlight: number | null
} {
  const { groupsPerUpdate, maxStaleness, groupsInFlight = null } = of.config.rollout
  return settingsInForce({ groupsPerUpdate, maxStaleness, groupsInFlight }, of.rollout)
}
