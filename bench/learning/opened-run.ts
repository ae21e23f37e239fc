/**
 * A run without workers: its home, its store, and the policy that it starts from.
 *
 * Invariants
 * - A warm start that was made before, from the same, is taken from the user's cache.
 */
import { createOpenRuns, type OpenRun, type OpenRuns } from '../../activities/stored/open-runs.ts'
import { imitate, prepareWarmStart } from '../../activities/warm-start/warm-start.ts'
import type { RunConfig } from '../../config/schema/schema.ts'
import type { EnvironmentDefinition } from '../../envs/contract/environment.ts'
import { runId } from '../../identity/identity.ts'
import { warmStartsFolder } from '../../machine/files/folder.ts'
import { checkpointCache } from '../../policy/checkpoints/checkpoint-cache.ts'
import { createTrainer } from '../../policy/trainer/embedded.ts'
import { createHome, createRunDirectory } from '../../storage/disk/home.ts'
import { openStore } from '../../storage/store.ts'

export interface OpenedRun extends AsyncDisposable {
  readonly runs: OpenRuns
  readonly opened: OpenRun
}

/** A run of this name in a home of its own, without workers. */
export async function openRun(
  directory: string,
  config: RunConfig,
  findEnvironment?: (name: string) => EnvironmentDefinition,
): Promise<OpenedRun> {
  await using opening = new AsyncDisposableStack()
  const home = createHome(directory)
  const store = opening.use(await openStore(home.storeFile))
  const run = runId('learning')
  await store.runs.insert({ id: run, config, created: Date.now() })
  createRunDirectory(home, run)
  const runs = createOpenRuns({ home, store, findEnvironment })
  opening.defer(() => runs.close())
  const opened = await runs.get(run)
  const all = opening.move()
  return { runs, opened, [Symbol.asyncDispose]: () => all.disposeAsync() }
}

/** @returns the folder of the checkpoint */
export async function warmStart(
  directory: string,
  config: RunConfig,
  findEnvironment?: (name: string) => EnvironmentDefinition,
): Promise<string> {
  console.error(`warm start on ${config.warmStart.demonstrations} demonstrations`)
  await using run = await openRun(directory, config, findEnvironment)
  const trainer = createTrainer({ threads: config.policy.threads })
  const log = (line: string) => console.error(line)
  const cache = checkpointCache(warmStartsFolder(), { log })
  const { signal } = new AbortController()
  const progress = { onProgress: () => undefined, onCorrection: () => undefined }
  const tools = { trainerOf: () => trainer, cache, ...progress, signal, log }
  try {
    await prepareWarmStart(run.opened, () => undefined, signal)
    for (let chunk = 0; chunk < config.warmStart.chunks; chunk++) await imitate(run.opened, chunk, tools)
  } finally {
    await trainer.close()
  }
  return run.opened.directory.checkpointDir(0)
}
