/**
 * Changed run: a run that continues with another configuration, from where it stopped.
 *
 * Invariants
 * - The change is in the store and in the audit trail before the run continues, so that a crash between loses nothing.
 * - An execution that still runs, as after a crash, is given up for a new one.
 * - A policy or a warm start that is begun with other settings is begun anew.
 */
import { rmSync } from 'node:fs'
import type { WorkflowHandle } from '@temporalio/client'
import { withoutHome } from '../config/home-paths.ts'
import type { RunId } from '../identity/identity.ts'
import type { Home } from '../storage/home.ts'
import type { Store } from '../storage/store.ts'
import { isWarm, type TrainingState } from '../workflows/training-state.ts'
import { forgetWarmStart } from '../workflows/transitions/warm-start.ts'
import type { RunChange } from './run-change.ts'
import { changedState, stateToRestartFrom, stateToResumeFrom } from './run-state.ts'
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
export async function resumeChanged(
  { store, home, by = whoami(), former, launch }: Dependencies,
  run: RunId,
  stored: TrainingState,
  given: RunChange,
): Promise<void> {
  const trail = await store.audit.list(run)
  const change = { config: withoutHome(given.config, home.dir), changes: given.changes }
  const from = former === undefined ? stateToResumeFrom : stateToRestartFrom
  const { state, entries } = changedState(from(stored, change.config, trail), change, {
    by,
    time: Date.now(),
  })
  await former?.terminate('its configuration was changed')
  if (!isWarm(stored) && change.changes.some(({ key }) => /^(policy|warmStart)\./.test(key))) {
    forgetWarmStart(state)
    const { checkpointsDir, batchesDir } = home.run(run)
    for (const folder of [checkpointsDir, batchesDir]) rmSync(folder, { recursive: true, force: true })
  }
  await store.runs.configure(run, change.config)
  await store.audit.put(run, entries)
  await store.runs.setStatus(run, 'running')
  await launch(state)
}
