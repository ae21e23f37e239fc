/**
 * Run change: another configuration for a run that is not in progress, found good before anything is started.
 *
 * Invariants
 * - It is checked as a whole: against the schema, against what the run has done, and its tasks are opened once.
 * - Nothing is written here; `resume` takes it and writes it down with who ordered it.
 */
import { type ConfigChange, changesBetween, refusedChanges } from '../config/changes.ts'
import { ConfigFault } from '../config/fault.ts'
import { inHome } from '../config/home-paths.ts'
import { withOverrides } from '../config/loader.ts'
import { configSchema, type RunConfig } from '../config/schema.ts'
import type { EnvironmentDefinition } from '../envs/environment.ts'
import type { RunId } from '../identity/identity.ts'
import type { Home } from '../storage/home.ts'
import type { Store } from '../storage/store.ts'
import { isWarm, type TrainingState } from '../workflows/training-state.ts'
import { checkRun, checkTasks } from './task-check.ts'

/** A change that can be made. */
export interface RunChange {
  /** As a program would give it: its paths lie where they are. */
  readonly config: RunConfig
  readonly changes: readonly ConfigChange[]
  /** What a person should know of it. */
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
  const before = inHome(configSchema.parse(record.config), home.dir)
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
  const changes = changesBetween(before, config)
  return changes.length === 0 ? undefined : { config, changes, notices }
}
