/**
 * The versions of a run's policy as models that a program can ask: `RUN` is the newest, `RUN@7` a version.
 *
 * Invariants
 * - [SERVED-POLICY-1] A name stands for the checkpoint that answers: one that is broken is never sampled from, and `RUN` is the newest good
 *   version at the time of the request.
 * - Versions are loaded when they are first asked for, and a few of them are kept.
 */
import { join } from 'node:path'
import { configSchema } from '../../config/schema.ts'
import { runId } from '../../identity/identity.ts'
import { type Chat, openChat } from '../../policy/chat/chat.ts'
import { readCheckpointText } from '../../policy/checkpoints/checkpoint.ts'
import { checkpointDir, latestGoodCheckpoint, publishedVersions } from '../../policy/checkpoints/versions.ts'
import { createEmbeddedEngine } from '../../policy/engines/embedded.ts'
import type { Engine, SampledTokens, SamplingRequest } from '../../policy/engines/engine.ts'
import { Tokenizer } from '../../policy/tokenizer/tokenizer.ts'
import { homeAt } from '../../storage/home.ts'
import { openStore } from '../../storage/store.ts'
import { SessionFault } from '../session-fault.ts'

/** A version, ready to be sampled from. */
export interface ServedModel {
  /** `RUN@7`. */
  readonly id: string
  readonly version: number
  readonly chat: Chat
  readonly tokenizer: Tokenizer
  /** Tokens of prompt and answer together at most. */
  readonly contextLength: number
}

/** What one answer is sampled by. */
export type ServedSampling = Pick<
  SamplingRequest,
  'context' | 'maxNewTokens' | 'temperature' | 'seed' | 'stopTokens'
>

export interface ServedPolicy extends AsyncDisposable {
  /** The names that can be asked for now. */
  names(): Promise<readonly string[]>
  /** @returns undefined for a name that is none of them */
  model(name: string): Promise<ServedModel | undefined>
  sample(model: ServedModel, sampling: ServedSampling, signal?: AbortSignal): Promise<SampledTokens>
}

/** What is served. */
export interface ServedRun {
  readonly home: string
  readonly run: string
  /** The only version that is served; all that are kept without it. */
  readonly version?: number | undefined
  readonly log: (line: string) => void
}

/** Versions in memory: the newest, the one before it while its turns end, and two that are compared. */
const versionsKept = 4
/** Answers that are decoded at once; more take turns. */
const maxBatch = 64

/** @throws SessionFault `unknown_run`, `unknown_version` */
export async function openServedPolicy(served: ServedRun): Promise<ServedPolicy> {
  const { home, run, version } = served
  const { storeFile, run: directoryOf } = homeAt(home)
  const { checkpointsDir } = directoryOf(runId(run))
  await using store = await openStore(storeFile, { create: false, access: 'read' })
  const text = await store.runs.configText(runId(run))
  if (text === undefined) throw new SessionFault('unknown_run', `${home} has no run ${run}`)
  const { threads, contextLength } = configSchema.parse(JSON.parse(text)).policy
  const versions = await publishedVersions(checkpointsDir)
  if (versions.length === 0 || (version !== undefined && !versions.includes(version)))
    throw new SessionFault(
      'unknown_version',
      `run ${run} keeps ${version === undefined ? 'no version yet' : `no version ${version}; it has ${versions.join(', ') || 'none yet'}`}`,
    )
  const engine = await createEmbeddedEngine({ threads, contextLength, maxBatch, exact: false })
  return new RunPolicy({ ...served, checkpointsDir, contextLength }, engine)
}

class RunPolicy implements ServedPolicy {
  readonly #served: ServedRun & { readonly checkpointsDir: string; readonly contextLength: number }
  readonly #engine: Engine
  /** By version, the least recently used first. */
  readonly #loaded = new Map<number, Promise<ServedModel>>()
  #newest: { readonly published: number; readonly good: number } | undefined
  #requests = 0

  constructor(
    served: ServedRun & { readonly checkpointsDir: string; readonly contextLength: number },
    engine: Engine,
  ) {
    this.#served = served
    this.#engine = engine
  }

  async names(): Promise<readonly string[]> {
    const { run } = this.#served
    return [run, ...(await this.#versions()).reverse().map((version) => `${run}@${version}`)]
  }

  async model(name: string): Promise<ServedModel | undefined> {
    const version = await this.#versionOf(name)
    if (version === undefined) return undefined
    const model = this.#loaded.get(version) ?? this.#load(version)
    this.#loaded.delete(version)
    this.#loaded.set(version, model)
    model.catch(() => this.#loaded.delete(version))
    for (const oldest of [...this.#loaded.keys()].slice(0, -versionsKept)) {
      this.#loaded.delete(oldest)
      await this.#engine.unload(oldest)
    }
    return model
  }

  async sample(model: ServedModel, sampling: ServedSampling, signal?: AbortSignal): Promise<SampledTokens> {
    const cacheKey = `request ${++this.#requests}`
    try {
      return await this.#engine.sample({ ...sampling, cacheKey, borders: [], version: model.version }, signal)
    } finally {
      this.#engine.release(cacheKey)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#engine.close()
  }

  async #versions(): Promise<number[]> {
    const { checkpointsDir, version } = this.#served
    const all = await publishedVersions(checkpointsDir)
    return version === undefined ? all : all.filter((each) => each === version)
  }

  async #versionOf(name: string): Promise<number | undefined> {
    const { run, version } = this.#served
    if (name === run) return version ?? this.#newestGood()
    const versions = await this.#versions()
    return versions.find((each) => name === `${run}@${each}`)
  }

  /** Looks through the checkpoints again only when there is a newer one. */
  async #newestGood(): Promise<number | undefined> {
    const { checkpointsDir, log } = this.#served
    const published = (await this.#versions()).at(-1) ?? -1
    if (this.#newest?.published === published) return this.#newest.good
    const { found, refused } = await latestGoodCheckpoint(checkpointsDir)
    for (const { fault } of refused) log(fault.message)
    if (found !== undefined) this.#newest = { published, good: found.version }
    return found?.version
  }

  async #load(version: number): Promise<ServedModel> {
    const { run, checkpointsDir, contextLength } = this.#served
    const dir = checkpointDir(checkpointsDir, version)
    await this.#engine.load(version, dir)
    const { tokenizer } = await readCheckpointText(dir)
    return {
      id: `${run}@${version}`,
      version,
      chat: await openChat(dir),
      tokenizer: Tokenizer.parse(tokenizer, join(dir, 'tokenizer.json')),
      contextLength,
    }
  }
}
