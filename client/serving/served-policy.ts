/**
 * The versions of a run's policy as models that a program can ask: `RUN` is the newest, `RUN@7` a version.
 *
 * Invariants
 * - [SERVED-POLICY-1] A name always means the checkpoint that answers: a broken checkpoint is never sampled from, and `RUN` is the newest good
 *   version at the time of the request.
 * - Versions are loaded when they are first asked for, and a few of them are kept (`loaded-versions.ts`).
 */
import { storedConfig } from '../../config/files/stored-config.ts'
import { runId } from '../../identity/identity.ts'
import { checkpointDir, latestGoodCheckpoint, publishedVersions } from '../../policy/checkpoints/versions.ts'
import { createEmbeddedEngine } from '../../policy/embedded-engine/embedded.ts'
import {
  encodePrompt,
  openPromptEncoder,
  type PromptEncoder,
  type Words,
} from '../../policy/endpoint/prompt-encoder.ts'
import type { Engine, SampledTokens, SamplingRequest } from '../../policy/engines/engine.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { openStore } from '../../storage/store.ts'
import { SessionFault } from '../run/session-fault.ts'
import { type Borrowed, LoadedVersions } from './loaded-versions.ts'
import { PromptThread } from './prompt-thread.ts'

/** A version, ready to be sampled from. */
export interface ServedModel extends PromptEncoder {
  /** `RUN@7`. */
  readonly id: string
  readonly version: number
  readonly checkpointDir: string
  /** Tokens of prompt and answer together at most. */
  readonly contextLength: number
}

/** Sampling settings of one answer. */
export type ServedSampling = Pick<
  SamplingRequest,
  'context' | 'maxNewTokens' | 'temperature' | 'seed' | 'stopTokens'
>

export interface ServedPolicy extends AsyncDisposable {
  /** The name of the newest version. */
  readonly run: string
  /** Tokens of prompt and answer together at most. */
  readonly contextLength: number
  /** The names that can be asked for now. */
  names(): Promise<readonly string[]>
  /** The model of a name, for as long as a request uses it; undefined for a name that is none of them. */
  borrow(name: string): Promise<Borrowed<ServedModel> | undefined>
  /**
   * The tokens of a prompt; undefined where there are more than `most`.
   * @param size characters of the request that it comes from
   * @throws ChatFault `refused`
   */
  encode(
    model: ServedModel,
    words: Words,
    options: { readonly size: number; readonly most: number; readonly signal?: AbortSignal },
  ): Promise<Int32Array | undefined>
  sample(model: ServedModel, sampling: ServedSampling, signal?: AbortSignal): Promise<SampledTokens>
}

/** The run to serve. */
export interface ServedRun {
  readonly home: string
  readonly run: string
  /** The only version that is served; all that are kept without it. */
  readonly version?: number | undefined
  readonly log: (line: string) => void
}

/** Versions in memory: the newest, the one before it while its turns end, and two that are compared. */
const versionsKept = 4
/** A longer request becomes a prompt in a thread of its own; the worst text of this length takes some 50 ms. */
const encodedHere = 16_384
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
  const { threads, contextLength } = storedConfig(JSON.parse(text)).policy
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
  readonly #loaded: LoadedVersions<ServedModel>
  readonly #prompts = new PromptThread()
  #newest: { readonly published: number; readonly good: number } | undefined
  #requests = 0

  constructor(
    served: ServedRun & { readonly checkpointsDir: string; readonly contextLength: number },
    engine: Engine,
  ) {
    this.#served = served
    this.#engine = engine
    this.#loaded = new LoadedVersions({
      most: versionsKept,
      load: (version) => this.#load(version),
      unload: (version) => engine.unload(version),
    })
  }

  get run(): string {
    return this.#served.run
  }

  get contextLength(): number {
    return this.#served.contextLength
  }

  async names(): Promise<readonly string[]> {
    return [this.run, ...(await this.#versions()).reverse().map((version) => `${this.run}@${version}`)]
  }

  async borrow(name: string): Promise<Borrowed<ServedModel> | undefined> {
    const version = await this.#versionOf(name)
    return version === undefined ? undefined : this.#loaded.borrow(version)
  }

  async encode(
    model: ServedModel,
    words: Words,
    { size, most, signal }: { readonly size: number; readonly most: number; readonly signal?: AbortSignal },
  ): Promise<Int32Array | undefined> {
    if (size <= encodedHere) return encodePrompt(model, words, most)
    return this.#prompts.encode({ checkpointDir: model.checkpointDir, words, most }, signal)
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
    await this.#prompts[Symbol.asyncDispose]()
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
    return {
      ...(await openPromptEncoder(dir)),
      id: `${run}@${version}`,
      version,
      checkpointDir: dir,
      contextLength,
    }
  }
}
