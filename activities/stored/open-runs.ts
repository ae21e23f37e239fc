/**
 * Open runs: the runs that a worker works for, in memory.
 *
 * Invariants
 * - They are a cache: everything in it comes from the store and the files, and can be read again.
 * - A task is opened once per run and configuration, and closed with the worker.
 */
import { inHome } from '../../config/files/home-paths.ts'
import { withSecrets } from '../../config/files/secrets.ts'
import { storedConfig } from '../../config/files/stored-config.ts'
import type { RunConfig } from '../../config/schema/schema.ts'
import { type EnvironmentDefinition, EnvironmentFault, type Task } from '../../envs/contract/environment.ts'
import { openWatched } from '../../envs/contract/watched-task.ts'
import { loadEnvironment } from '../../envs/external/loading.ts'
import { findEnvironment as registered } from '../../envs/registry.ts'
import type { RunId } from '../../identity/identity.ts'
import { StorageFault } from '../../storage/disk/fault.ts'
import type { Home, RunDirectory } from '../../storage/disk/home.ts'
import type { Store } from '../../storage/store.ts'

export interface OpenTask {
  readonly definition: EnvironmentDefinition
  readonly task: Task
}

export interface OpenRun {
  readonly run: RunId
  readonly config: RunConfig
  readonly directory: RunDirectory
  /** @throws EnvironmentFault the data of the task cannot be opened */
  task(index: number): Promise<OpenTask>
  /** The same task with the settings of its demonstrations. */
  demonstrationTask(index: number): Promise<OpenTask>
}

export interface OpenRuns {
  /** @throws StorageFault `missing` a run that was never stored */
  get(run: RunId): Promise<OpenRun>
  close(): Promise<void>
}

interface Dependencies {
  readonly home: Home
  readonly store: Store
  /** The task of a name; those of the registry by default. */
  readonly findEnvironment?: ((name: string) => EnvironmentDefinition) | undefined
  /** Reports calls of environments that take unusually long. @returns a function to call once the call has ended */
  readonly reportSlow?: ((run: RunId, sentence: string) => () => void) | undefined
  /** Reports sessions that cannot be closed. */
  readonly log?: ((line: string) => void) | undefined
}

export function createOpenRuns(dependencies: Dependencies): OpenRuns {
  const { home, store } = dependencies
  const opened = new Map<RunId, { readonly text: string; readonly run: Promise<OpenRun> }>()
  const tasks: Promise<OpenTask>[] = []

  async function open(run: RunId, text: string): Promise<OpenRun> {
    const config = inHome(storedConfig(JSON.parse(text)), home.dir)
    const byKind = new Map<string, Promise<OpenTask>>()
    const openOnce = (index: number, demonstrations: boolean): Promise<OpenTask> => {
      const kind = `${index} ${demonstrations}`
      const known = byKind.get(kind)
      if (known !== undefined) return known
      const opening = openTask(config, index, demonstrations, dependencies, run)
      byKind.set(kind, opening)
      tasks.push(opening)
      opening.catch(() => byKind.delete(kind))
      return opening
    }
    return {
      run,
      config,
      directory: home.run(run),
      task: (index) => openOnce(index, false),
      demonstrationTask: (index) =>
        openOnce(index, Object.keys(config.tasks[index]?.demonstrationSettings ?? {}).length > 0),
    }
  }

  return {
    async get(run) {
      const text = await store.runs.configText(run)
      if (text === undefined)
        throw new StorageFault(
          'missing',
          `run ${run} is not in ${store.file}; \`perdure runs\` lists those that are`,
        )
      const known = opened.get(run)
      if (known?.text === text) return known.run
      const opening = open(run, text)
      opened.set(run, { text, run: opening })
      opening.catch(() => opened.delete(run))
      return opening
    },

    async close() {
      const settled = await Promise.allSettled(tasks)
      await Promise.all(
        settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value.task.close()] : [])),
      )
    },
  }
}

/** The environment of an entry of the task mix: from a file, or of the registry. */
export async function definitionOf(
  { from, task, settings }: RunConfig['tasks'][number],
  findEnvironment: (name: string) => EnvironmentDefinition = registered,
): Promise<EnvironmentDefinition> {
  if (from === undefined) return findEnvironment(task)
  return await loadEnvironment(from, task, {
    settings,
    fill: (part) => withSecrets(part, `from of ${task}`),
  })
}

async function openTask(
  config: RunConfig,
  index: number,
  demonstrations: boolean,
  { home, store, findEnvironment, reportSlow, log }: Dependencies,
  run: RunId,
): Promise<OpenTask> {
  const entry = config.tasks[index]
  if (entry === undefined) throw new EnvironmentFault('bad_settings', `tasks.${index} is not configured`)
  const definition = await definitionOf(entry, findEnvironment)
  const settings = demonstrations ? { ...entry.settings, ...entry.demonstrationSettings } : entry.settings
  const options = {
    dataDir: entry.data,
    settings: withSecrets(settings, `tasks.${index}.settings`),
    folder: home.environmentsDir,
    leases: store.leases,
  }
  const reports = {
    slow: (sentence: string) => reportSlow?.(run, sentence),
    unclosed: (sentence: string) => log?.(sentence),
  }
  return { definition, task: await openWatched(definition, options, reports) }
}
