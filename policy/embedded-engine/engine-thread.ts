/**
 * A sampler on onnxruntime in a thread of its own, started again when it dies.
 *
 * Invariants
 * - The calling thread never computes: it posts requests and resolves promises.
 * - When the thread dies, what was in flight fails with `crashed`, and the next request starts a new
 *   thread with all versions loaded again from their checkpoints.
 * - After `close` every request fails with `closed`, and the thread is gone.
 */
import type { Worker } from 'node:worker_threads'
import { ThreadCalls } from '../../machine/modules/thread-calls.ts'
import {
  closedFault,
  type Engine,
  EngineFault,
  type EngineStatistics,
  notLoadedFault,
  type SampledTokens,
  type SamplingRequest,
} from '../engines/engine.ts'
import { Loads } from '../engines/loads.ts'
import { CheckpointFault } from '../files/checkpoint-fault.ts'
import { endComputingThread, startComputingThread } from '../graph/computing-thread.ts'
import type { SamplerOptions } from '../sampler/sampler.ts'

/** A thread that runs or ran. */
interface Thread {
  readonly worker: Worker
  readonly calls: ThreadCalls<SamplingMethods>
  /** All versions of the engine are loaded. */
  readonly ready: Promise<void>
}

/** Given to a thread at its start. */
export type WorkerOptions = SamplerOptions

export type SamplingMethods = {
  readonly load: {
    readonly request: { readonly version: number; readonly checkpointDir: string }
    readonly reply: undefined
  }
  readonly unload: { readonly request: number; readonly reply: undefined }
  readonly sample: { readonly request: SamplingRequest; readonly reply: SampledTokens }
  /** Forgets the cache of a key. */
  readonly release: { readonly request: string; readonly reply: undefined }
  readonly statistics: { readonly request: undefined; readonly reply: EngineStatistics }
}

export class EngineThread implements Omit<Engine, 'capabilities'> {
  readonly #options: WorkerOptions
  readonly #dirs = new Map<number, string>()
  readonly #loads = new Loads()
  #thread: Thread | undefined
  #open = 0
  #closed = false

  constructor(options: WorkerOptions) {
    this.#options = options
    this.#thread = this.#start()
  }

  /** Requests that have no answer yet, those that wait for the thread's start included. */
  get open(): number {
    return this.#open
  }

  get versions(): readonly number[] {
    return [...this.#dirs.keys()].sort((left, right) => left - right)
  }

  async load(version: number, checkpointDir: string): Promise<void> {
    if (this.#dirs.has(version)) return
    await this.#loads.once(version, () => this.#load(version, checkpointDir))
  }

  async unload(version: number): Promise<void> {
    if (!this.#dirs.delete(version)) return
    if (this.#thread === undefined || this.#thread.calls.isLost || this.#closed) return
    await this.#thread.calls.call('unload', version)
  }

  async sample(request: SamplingRequest, signal?: AbortSignal): Promise<SampledTokens> {
    this.#open++
    try {
      return await this.#sample(request, signal)
    } finally {
      this.#open--
    }
  }

  release(cacheKey: string): void {
    this.#thread?.calls.tell('release', cacheKey)
  }

  /** Counters since the thread started. */
  async statistics(): Promise<EngineStatistics> {
    return await this.#running().calls.call('statistics', undefined)
  }

  async close(): Promise<void> {
    this.#closed = true
    const thread = this.#thread
    this.#thread = undefined
    if (thread === undefined || thread.calls.isLost) return
    thread.calls.fail(closedFault())
    await endComputingThread(thread.worker)
  }

  async #sample(request: SamplingRequest, signal: AbortSignal | undefined): Promise<SampledTokens> {
    signal?.throwIfAborted()
    if (!this.#closed && !this.#dirs.has(request.version)) throw notLoadedFault(request.version)
    const thread = this.#running()
    await thread.ready
    signal?.throwIfAborted()
    const own = portable(request)
    return await thread.calls.call('sample', own, { signal, transfer: [own.context.buffer as ArrayBuffer] })
  }

  async #load(version: number, checkpointDir: string): Promise<void> {
    const thread = this.#running()
    await thread.ready
    await thread.calls.call('load', { version, checkpointDir })
    this.#dirs.set(version, checkpointDir)
  }

  /** The thread, a new one where the last has died. @throws EngineFault closed */
  #running(): Thread {
    if (this.#closed) throw closedFault()
    if (this.#thread === undefined || this.#thread.calls.isLost) this.#thread = this.#start()
    return this.#thread
  }

  #start(): Thread {
    // Published code is JavaScript, a checkout's is TypeScript.
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
    const worker = startComputingThread(new URL(`./embedded-worker.${extension}`, import.meta.url), {
      workerData: this.#options,
      name: 'policy engine',
    })
    const calls = new ThreadCalls<SamplingMethods>(worker, {
      faults: [EngineFault, CheckpointFault],
      onLoss: (loss) =>
        'cause' in loss
          ? crashFault(String(loss.cause), loss.cause)
          : crashFault(`its thread ended with code ${loss.exitCode}`),
    })
    const thread: Thread = { worker, calls, ready: this.#reload(calls) }
    thread.ready.catch(() => {}) // the thread was lost on the way; its callers learn of it
    return thread
  }

  async #reload(calls: ThreadCalls<SamplingMethods>): Promise<void> {
    await Promise.all(
      [...this.#dirs].map(async ([version, checkpointDir]) => {
        try {
          await calls.call('load', { version, checkpointDir })
        } catch (fault) {
          if (!(fault instanceof CheckpointFault)) throw fault
          this.#dirs.delete(version) // its checkpoint is gone: requests for it fail as not loaded
        }
      }),
    )
  }
}

/** A request of its own memory: a view would take its whole array along. */
function portable(request: SamplingRequest): SamplingRequest {
  const { cacheKey, context, borders, version, maxNewTokens, temperature, stopTokens, seed } = request
  const own = { cacheKey, context: context.slice(), borders, version, maxNewTokens, temperature, stopTokens }
  return { ...own, seed, background: request.background ?? false }
}

function crashFault(why: string, cause?: unknown): EngineFault {
  return new EngineFault('crashed', `the engine crashed (${why}): ask again, it restarts`, { cause })
}
