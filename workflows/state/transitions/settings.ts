/**
 * Settings of a run: orders override its configuration.
 *
 * Invariants
 * - The latest change counts: an order overrides the configuration, a changed configuration the orders before it.
 */
import type { RunConfig } from '../../../config/schema/schema.ts'
import type { LearningChange, RolloutChange } from '../../../contract/messages.ts'
import type { GateDrops } from '../../../contract/training-state.ts'
import type { Changing } from './changing.ts'

/** Changes a learning setting from the next update on. */
export function changeLearning(state: Changing, change: LearningChange): void {
  state.learning = { ...state.learning, ...change }
}

/** Changes a rollout setting for the groups that are admitted next. */
export function changeRollout(state: Changing, change: RolloutChange): void {
  state.rollout = { ...state.rollout, ...change }
}

/** Changes the run's share of the workers of a fleet, for the groups that are admitted next. */
export function changeShare(state: Changing, share: number): void {
  state.fleetShare = share
}

/** Changes the task's share of the groups that are admitted next. */
export function changeWeight(state: Changing, task: number, weight: number): void {
  state.weights = state.weights.with(task, weight)
}

/** Changes the largest loss that a gate allows, from the next evaluation of its suite on. */
export function changeGateDrop(state: Changing, gate: number, drop: number): void {
  state.gateDrops = { ...state.gateDrops, [gate]: drop }
}

/**
 * Gives the run another configuration: a run that was done or failed may continue, and orders of the keys that it changes
 * no longer hold.
 * @param keys those that it changes, e.g. `learning.clipLow`, `tasks.0.weight`
 */
export function changeConfiguration(state: Changing, config: RunConfig, keys: ReadonlySet<string>): void {
  state.config = config
  state.phase = 'starting'
  // The next publication finds whether the budget of now is spent.
  delete state.isSpent
  state.weights = state.weights.map((weight, task) =>
    keys.has(`tasks.${task}.weight`) ? (config.tasks[task]?.weight ?? weight) : weight,
  )
  state.learning = without(state.learning, 'learning', keys)
  state.rollout = without(state.rollout, 'rollout', keys)
  if (keys.has('fleet.share')) delete state.fleetShare
  if (state.gateDrops !== undefined) state.gateDrops = keptDrops(state.gateDrops, keys)
}

/** Gates are named by their positions: when the gates change, no order of them holds. */
function keptDrops(ordered: GateDrops, keys: ReadonlySet<string>): GateDrops {
  if ([...keys].some((key) => /^evaluation\.gates(\.\d+(\.suite)?)?$/.test(key))) return {}
  const kept = Object.entries(ordered).filter(([gate]) => !keys.has(`evaluation.gates.${gate}.drop`))
  return Object.fromEntries(kept)
}

function without<T extends object>(ordered: T, section: string, keys: ReadonlySet<string>): T {
  const kept = Object.entries(ordered).filter(([name]) => !keys.has(`${section}.${name}`))
  return Object.fromEntries(kept) as T
}
