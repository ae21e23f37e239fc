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
import { CheckpointFault } from '../checkpoints/checkpoint-fault.ts'
import { endComputingThread, startComputingThread } from '../graph/computing-thread.ts'
import {
  type Answer,
  type FromWorker,
  faultOf,
  type ToWorker,
  type WorkerOptions,
} from './embedded-messages.ts'
import {
  type Engine,
  EngineFault,
  type EngineStatistics,
  type SampledTokens,
  type SamplingRequest,
} from './engine.ts'

interface Pending {
  readonly resolve: (answer: Answer) => void
  readonly reject: (fault: Error) => void
}

/** A thread that runs or ran, and what it still has to answer. */
interface Thread {
  readonly worker: Worker
  readonly pending: Map<number, Pending>
  /** All versions of the engine are loaded. */
  ready: Promise<void>
  dead: boolean
}

export class EngineThread implements Engine {
  readonly #options: WorkerOptions
  readonly #dirs = new Map<number, string>()
  readonly #loading = new Map<number, Promise<void>>()
  #thread: Thread | undefined
  #lastId = 0
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
    const known = this.#loading.get(version)
    if (known !== undefined) return known
    const loading = this.#load(version, checkpointDir).finally(() => this.#loading.delete(version))
    this.#loading.set(version, loading)
    return loading
  }

  async unload(version: number): Promise<void> {
    if (!this.#dirs.delete(version)) return
    if (this.#thread === undefined || this.#thread.dead || this.#closed) return
    await this.#ask(this.#thread, (id) => ({ type: 'unload', id, version }))
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
    if (this.#thread !== undefined && !this.#thread.dead) post(this.#thread, { type: 'release', cacheKey })
  }

  /** Counters since the thread started. */
  async statistics(): Promise<EngineStatistics> {
    const answer = await this.#ask(this.#running(), (id) => ({ type: 'statistics', id }))
    return (answer as Extract<Answer, { statistics: EngineStatistics }>).statistics
  }

  async close(): Promise<void> {
    this.#closed = true
    const thread = this.#thread
    this.#thread = undefined
    if (thread === undefined || thread.dead) return
    bury(thread, closedFault())
    await endComputingThread(thread.worker)
  }

  async #sample(request: SamplingRequest, signal: AbortSignal | undefined): Promise<SampledTokens> {
    signal?.throwIfAborted()
    if (!this.#closed && !this.#dirs.has(request.version)) throw notLoadedFault(request.version)
    const thread = this.#running()
    await thread.ready
    signal?.throwIfAborted()
    const answer = await this.#ask(
      thread,
      (id) => ({ type: 'sample', id, request: portable(request) }),
      signal,
    )
    return (answer as Extract<Answer, { result: SampledTokens }>).result
  }

  async #load(version: number, checkpointDir: string): Promise<void> {
    const thread = this.#running()
    await thread.ready
    await this.#ask(thread, (id) => ({ type: 'load', id, version, checkpointDir }))
    this.#dirs.set(version, checkpointDir)
  }

  /** The thread, a new one where the last has died. @throws EngineFault closed */
  #running(): Thread {
    if (this.#closed) throw closedFault()
    if (this.#thread === undefined || this.#thread.dead) this.#thread = this.#start()
    return this.#thread
  }

  #start(): Thread {
    // Published code is JavaScript, a checkout's is TypeScript.
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
    const worker = startComputingThread(new URL(`./embedded-worker.${extension}`, import.meta.url), {
      workerData: this.#options,
      name: 'policy engine',
    })
    const thread: Thread = { worker, pending: new Map(), ready: Promise.resolve(), dead: false }
    worker.on('message', ({ answers }: FromWorker) => {
      for (const answer of answers) settle(thread, answer)
    })
    worker.on('error', (cause) => bury(thread, crashFault(String(cause), cause)))
    worker.on('messageerror', (cause) => bury(thread, crashFault(String(cause), cause)))
    worker.on('exit', (code) => bury(thread, crashFault(`its thread ended with code ${code}`)))
    worker.unref()
    thread.ready = this.#reload(thread)
    thread.ready.catch(() => {}) // the thread died on the way; whoever waits for it is told
    return thread
  }

  async #reload(thread: Thread): Promise<void> {
    await Promise.all(
      [...this.#dirs].map(async ([version, checkpointDir]) => {
        try {
          await this.#ask(thread, (id) => ({ type: 'load', id, version, checkpointDir }))
        } catch (fault) {
          if (!(fault instanceof CheckpointFault)) throw fault
          this.#dirs.delete(version) // its checkpoint is gone: who asks for it learns that it is not loaded
        }
      }),
    )
  }

  #ask(thread: Thread, message: (id: number) => ToWorker, signal?: AbortSignal): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (thread.dead) {
        reject(this.#closed ? closedFault() : crashFault('its thread ended'))
        return
      }
      const id = ++this.#lastId
      const abort = (): void => {
        forget(thread, id)
        post(thread, { type: 'cancel', id })
        reject(signal?.reason)
      }
      const done = (): void => signal?.removeEventListener('abort', abort)
      thread.pending.set(id, {
        resolve: (answer) => {
          done()
          resolve(answer)
        },
        reject: (fault) => {
          done()
          reject(fault)
        },
      })
      // A thread with work keeps the process alive, an idle one does not.
      if (thread.pending.size === 1) thread.worker.ref()
      signal?.addEventListener('abort', abort, { once: true })
      post(thread, message(id))
    })
  }
}

/** A request of its own memory: a view would take its whole array along. */
function portable(request: SamplingRequest): SamplingRequest {
  const { cacheKey, context, borders, version, maxNewTokens, temperature, stopTokens, seed } = request
  const own = { cacheKey, context: context.slice(), borders, version, maxNewTokens, temperature, stopTokens }
  return { ...own, seed, background: request.background ?? false }
}

function post(thread: Thread, message: ToWorker): void {
  const transfer = message.type === 'sample' ? [message.request.context.buffer as ArrayBuffer] : []
  thread.worker.postMessage(message, transfer)
}

function settle(thread: Thread, answer: Answer): void {
  const pending = thread.pending.get(answer.id)
  if (pending === undefined) return // cancelled meanwhile
  forget(thread, answer.id)
  if ('fault' in answer) pending.reject(faultOf(answer.fault))
  else pending.resolve(answer)
}

function forget(thread: Thread, id: number): void {
  thread.pending.delete(id)
  if (thread.pending.size === 0) thread.worker.unref()
}

/** Fails all that a thread still owes. */
function bury(thread: Thread, fault: EngineFault): void {
  thread.dead = true
  const owed = [...thread.pending.values()]
  thread.pending.clear()
  thread.worker.unref()
  for (const pending of owed) pending.reject(fault)
}

export function notLoadedFault(version: number): EngineFault {
  return new EngineFault(
    'version_not_loaded',
    `policy version ${version} is not loaded: load it before sampling from it`,
  )
}

export function closedFault(): EngineFault {
  return new EngineFault('closed', 'the engine is closed: create another one')
}

function crashFault(why: string, cause?: unknown): EngineFault {
  return new EngineFault('crashed', `the engine crashed (${why}): ask again, it starts anew`, { cause })
}
