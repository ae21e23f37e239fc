/**
 * Run change: another configuration for a run that is not in progress, found good before anything is started.
 *
 * Invariants
 * - It is checked as a whole: against the schema, against what the run has done, and its tasks are opened once.
 * - Nothing is written here; `resume` takes it and writes it down with who ordered it.
 * - The change is in the store and in the audit trail before the run continues, so that a crash between loses nothing.
 * - An execution that still runs, as after a crash, is given up for a new one.
 * - A policy or a warm start whose settings change starts over.
 */

import { rmSync } from 'node:fs'
import type { WorkflowHandle } from '@temporalio/client'
import { type ConfigChange, changesBetween, refusedChanges } from '../../config/changes.ts'
import { ConfigFault } from '../../config/files/fault.ts'
import { inHome, withoutHome } from '../../config/files/home-paths.ts'
import { withOverrides } from '../../config/files/loader.ts'
import { storedConfig } from '../../config/files/stored-config.ts'
import type { RunConfig } from '../../config/schema/schema.ts'
import { isWarm, type TrainingState } from '../../contract/training-state.ts'
import type { EnvironmentDefinition } from '../../envs/contract/environment.ts'
import type { RunId } from '../../identity/identity.ts'
import { clock } from '../../machine/services/clock.ts'
import type { Home } from '../../storage/disk/home.ts'
import type { Store } from '../../storage/store.ts'
import { changedState, stateToRestartFrom, stateToResumeFrom } from '../../workflows/state/run-state.ts'
import { forgetWarmStart } from '../../workflows/state/transitions/phase.ts'
import { checkMeans, checkRun, checkTasks } from '../checks/task-check.ts'
import type { SessionParts } from './run-calls.ts'

/** A change that can be made. */
export interface RunChange {
  /** As a program would give it: its paths lie where they are. */
  readonly config: RunConfig
  readonly changes: readonly ConfigChange[]
  /** Messages for the person. */
  readonly notices: readonly string[]
}

/**
 * The change that single values make of a run; undefined where they change nothing.
 * @param set `key=value` texts
 * @throws ConfigFault with each key that may not change, and why
 */
export async function runChangeOf(
  { store, home, own }: { store: Store; home: Home; own?: readonly EnvironmentDefinition[] },
  run: RunId,
  set: readonly string[],
): Promise<RunChange | undefined> {
  const record = await store.runs.get(run)
  if (record === undefined) return undefined
  const before = inHome(storedConfig(record.config), home.dir)
  const wanted = withOverrides(before, set)
  const state = (await store.runs.state(run)) as TrainingState | undefined
  const warm = state !== undefined && isWarm(state)
  const refused = refusedChanges(changesBetween(before, wanted), {
    isWarm: warm,
    step: state?.step ?? 0,
    isDone: record.status === 'done',
  })
  if (refused.length > 0)
    throw new ConfigFault(
      'bad_value',
      refused.map(({ key, to, reason }) => {
        const message = `--set ${key}: run ${run} cannot change \`${key}\` any more: ${reason}`
        return { key, value: String(to), allowed: reason, where: '--set', message }
      }),
    )
  const check = warm ? checkTasks : checkRun
  const { config, notices } = await check(wanted, { home: home.dir, own })
  if (warm) await checkMeans(config)
  const changes = changesBetween(before, config)
  return changes.length === 0 ? undefined : { config, changes, notices }
}

/** @param stored the state that the run has stored; of an execution that ended it is the last one */
export async function resumeChanged(
  {
    store,
    home,
    by,
    former,
    launch,
  }: Pick<SessionParts, 'store' | 'home' | 'by'> & {
    /** An execution of the run that has not ended. */
    readonly former: Pick<WorkflowHandle, 'terminate'> | undefined
    readonly launch: (state: TrainingState) => Promise<void>
  },
  run: RunId,
  stored: TrainingState,
  given: RunChange,
): Promise<void> {
  const trail = await store.audit.list(run)
  const change = { config: withoutHome(given.config, home.dir), changes: given.changes }
  const from = former === undefined ? stateToResumeFrom : stateToRestartFrom
  const { state, entries } = changedState(from(stored, change.config, trail), change, {
    by,
    time: clock.now(),
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
