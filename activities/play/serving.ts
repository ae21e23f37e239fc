/**
 * Serving: the inference engines of a policy worker, one per run, with the versions they have loaded.
 *
 * Invariants
 * - A version is loaded when it is first asked for; loaded versions are a cache and can be loaded again.
 * - A checkpoint that is not whole is never served: the newest good one before it is used instead, and
 *   the answer carries the version that really sampled.
 */
import type { RunConfig } from '../../config/schema/schema.ts'
import type { RunId } from '../../identity/identity.ts'
import type { Chat } from '../../policy/chat/chat.ts'
import { latestGoodCheckpoint } from '../../policy/checkpoints/versions.ts'
import { openPromptEncoder, type PromptEncoder } from '../../policy/endpoint/prompt-encoder.ts'
import type { Engine, SampledTokens, SamplingRequest } from '../../policy/engines/engine.ts'
import { CheckpointFault } from '../../policy/files/checkpoint-fault.ts'
import type { RunDirectory } from '../../storage/disk/home.ts'
import type { OpenRuns } from '../stored/open-runs.ts'

/** A served policy: the engine's work and the text around it. */
export interface Serving {
  /** Loads a version. @returns the version that serves it: itself, or an older one where it is broken */
  prepare(run: RunId, version: number): Promise<number>
  sample(run: RunId, request: SamplingRequest, signal?: AbortSignal): Promise<SampledTokens>
  /** Tokenizer and chat format of the run's policy. */
  chat(run: RunId): Promise<Chat>
  encoder(run: RunId): Promise<PromptEncoder>
  /** Drops what the engine keeps of a context: of an episode that has ended, or of a question. */
  release(run: RunId, cacheKey: string): void
  /** Forgets all other versions. */
  keepOnly(run: RunId, versions: readonly number[]): Promise<void>
  /** Ends the run's engine. */
  close(run: RunId): Promise<void>
  closeAll(): Promise<void>
}

interface Dependencies {
  readonly runs: OpenRuns
  readonly createEngine: (config: RunConfig, run: RunId) => Promise<Engine>
  readonly log: (line: string) => void
}

interface Served {
  readonly engine: Promise<Engine>
  /** Which version serves each version asked for. */
  readonly loading: Map<number, Promise<number>>
  encoder?: Promise<PromptEncoder>
}

export function createServing({ runs, createEngine, log }: Dependencies): Serving {
  const served = new Map<RunId, Served>()

  function servedOf(run: RunId): Served {
    const known = served.get(run)
    if (known !== undefined) return known
    const opening: Served = {
      engine: runs.get(run).then(({ config }) => createEngine(config, run)),
      loading: new Map(),
    }
    served.set(run, opening)
    opening.engine.catch(() => served.delete(run))
    return opening
  }

  async function load(run: RunId, version: number): Promise<number> {
    const engine = await servedOf(run).engine
    const { directory } = await runs.get(run)
    return loadGood({ engine, directory, log }, version)
  }

  async function prepare(run: RunId, version: number): Promise<number> {
    const { loading } = servedOf(run)
    const known = loading.get(version)
    if (known !== undefined) return known
    const started = load(run, version)
    loading.set(version, started)
    started.catch(() => loading.delete(version))
    return started
  }

  function encoder(run: RunId): Promise<PromptEncoder> {
    const mine = servedOf(run)
    mine.encoder ??= runs.get(run).then(({ directory }) => newestEncoder(run, directory))
    mine.encoder.catch(() => {
      delete mine.encoder
    })
    return mine.encoder
  }

  async function close(run: RunId): Promise<void> {
    const closing = served.get(run)
    served.delete(run)
    if (closing !== undefined) await (await closing.engine).close()
  }

  return {
    prepare,

    async sample(run, request, signal) {
      const version = await prepare(run, request.version)
      const engine = await servedOf(run).engine
      return engine.sample({ ...request, version }, signal)
    },

    chat: async (run) => (await encoder(run)).chat,
    encoder,

    release(run, cacheKey) {
      // An engine that could not be created keeps nothing.
      served.get(run)?.engine.then(
        (engine) => engine.release(cacheKey),
        () => undefined,
      )
    },

    async keepOnly(run, versions) {
      const { loading, engine } = servedOf(run)
      for (const version of [...loading.keys()])
        if (!versions.includes(version)) {
          const serving = await loading.get(version)
          loading.delete(version)
          if (serving !== undefined && !versions.includes(serving)) await (await engine).unload(serving)
        }
    },

    close,

    async closeAll() {
      await Promise.all([...served.keys()].map(close))
    },
  }
}

/** Loads a version, or the newest good one before it where its checkpoint is broken. @returns the one that is loaded */
async function loadGood(
  {
    engine,
    directory,
    log,
  }: { readonly engine: Engine; readonly directory: RunDirectory; readonly log: Dependencies['log'] },
  version: number,
): Promise<number> {
  try {
    await engine.load(version, directory.checkpointDir(version))
    return version
  } catch (error) {
    if (!(error instanceof CheckpointFault) || error.kind === 'io') throw error
    const { found } = await latestGoodCheckpoint(directory.checkpointsDir, version - 1)
    if (found === undefined) throw error
    log(`${error.message}; version ${found.version} is used in its place`)
    await engine.load(found.version, found.dir)
    return found.version
  }
}

/** Tokenizer and chat of the newest good checkpoint; all checkpoints of a run have the same. */
async function newestEncoder(run: RunId, { checkpointsDir }: RunDirectory): Promise<PromptEncoder> {
  const { found } = await latestGoodCheckpoint(checkpointsDir)
  if (found === undefined)
    throw new CheckpointFault('missing', `run ${run} has no checkpoint in ${checkpointsDir}`)
  return openPromptEncoder(found.dir)
}
