/**
 * Changed run: a run that goes on with another configuration, from where it stood.
 *
 * Invariants
 * - The change stands in the store and in the audit trail before the run goes on, so that a crash between loses nothing.
 * - An execution that still runs, as after a crash, is given up for a new one.
 * - A policy or a warm start that is begun with other settings is begun anew.
 */
import { rmSync } from 'node:fs'
import type { WorkflowHandle } from '@temporalio/client'
import { withoutHome } from '../config/home-paths.ts'
import type { RunId } from '../identity.ts'
import type { Home } from '../storage/home.ts'
import type { Store } from '../storage/store.ts'
import type { TrainingState } from '../workflows/training-state.ts'
import type { RunChange } from './run-change.ts'
import { changedState, stateToBeginAgainFrom, stateToGoOnFrom } from './run-state.ts'
import { whoami } from './run-steering.ts'

interface Dependencies {
  readonly store: Store
  readonly home: Home
  /** Who orders it; the user of this process by default. */
  readonly by?: string | undefined
  /** An execution of the run that has not ended. */
  readonly former: Pick<WorkflowHandle, 'terminate'> | undefined
  readonly launch: (state: TrainingState) => Promise<void>
}

/** @param stored the state that the run has stored; of an execution that ended it is the last one */
export async function goOnChanged(
  { store, home, by = whoami(), former, launch }: Dependencies,
  run: RunId,
  stored: TrainingState,
  given: RunChange,
): Promise<void> {
  const trail = await store.audit.list(run)
  const change = { config: withoutHome(given.config, home.dir), changes: given.changes }
  const from = former === undefined ? stateToGoOnFrom : stateToBeginAgainFrom
  const { state, entries } = changedState(from(stored, change.config, trail), change, {
    by,
    time: Date.now(),
  })
  await former?.terminate('its configuration was changed')
  const { warmStart } = stored
  const isWarm = warmStart !== null && warmStart.done === warmStart.total
  if (!isWarm && change.changes.some(({ key }) => /^(policy|warmStart)\./.test(key))) {
    state.warmStart = null
    const { checkpointsDir, batchesDir } = home.run(run)
    for (const folder of [checkpointsDir, batchesDir]) rmSync(folder, { recursive: true, force: true })
  }
  await store.runs.configure(run, change.config)
  await store.audit.put(run, entries)
  await store.runs.setStatus(run, 'running')
  await launch(state)
}
