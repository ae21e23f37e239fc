/**
 * The embedded trainer: graphs on onnxruntime-node in a worker thread.
 *
 * Invariants
 * - The calling thread is never blocked.
 * - A worker thread that dies fails its calls as `crashed`; the next call starts another.
 * - [EMBEDDED-TRAINER-1] A custom algorithm that keeps an update from making progress for the stall limit is a `bad_loss`, and its thread
 *   is left.
 * - After `close` no thread is left, and every call that had no answer has failed.
 */
import { extname } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { ThreadCalls } from '../../machine/modules/thread-calls.ts'
import { endComputingThread, startComputingThread } from '../graph/computing-thread.ts'
import {
  type LogprobsRequest,
  type Trainer,
  TrainerFault,
  type UpdateRequest,
  type ValuesRequest,
  type WarmStartRequest,
} from './trainer.ts'
import type { Progress } from './update/update.ts'

/** Settings of the embedded trainer. */
export interface EmbeddedTrainerOptions {
  /** Threads of the gradient graph; another count may change results in their last bits. */
  readonly threads: number
  /** Longest silence of an update with a custom algorithm, in milliseconds; absent: any. */
  readonly stallMs?: number
}

/** A thread that runs or ran. */
interface Thread {
  readonly worker: Worker
  readonly calls: ThreadCalls<TrainingMethods>
}

/** The methods that run in the thread; progress is what is done, of all. */
export type TrainingMethods = {
  readonly [Name in Method]: {
    readonly request: Parameters<Trainer[Name]>[0]
    readonly reply: Awaited<ReturnType<Trainer[Name]>>
    readonly progress: readonly [done: number, total: number]
  }
}

/** The data that the thread is started with. */
export interface TrainerWorkerData {
  readonly threads: number
}

/** A trainer whose thread starts with its first call. */
export function createTrainer(options: EmbeddedTrainerOptions): Trainer {
  return new EmbeddedTrainer(options)
}

class EmbeddedTrainer implements Trainer {
  readonly #options: EmbeddedTrainerOptions
  #thread: Thread | undefined
  #closed = false

  constructor(options: EmbeddedTrainerOptions) {
    this.#options = options
  }

  async update(request: UpdateRequest, onProgress?: Progress) {
    const { stallMs } = this.#options
    const { loss, losses = [loss] } = request.objective
    const custom = losses.find((each) => typeof each === 'object')
    if (custom === undefined || stallMs === undefined) return this.#call('update', request, onProgress)
    const watch = setTimeout(
      () =>
        this.#leave(
          `the algorithm "${custom.name}" of ${custom.module} did not answer within ${stallMs / 1000} s`,
        ),
      stallMs,
    )
    try {
      return await this.#call('update', request, (...counts) => {
        watch.refresh()
        onProgress?.(...counts)
      })
    } finally {
      clearTimeout(watch)
    }
  }

  warmStart(request: WarmStartRequest, onProgress?: Progress, signal?: AbortSignal) {
    return this.#call('warmStart', request, onProgress, signal)
  }

  logprobs(request: LogprobsRequest) {
    return this.#call('logprobs', request, undefined)
  }

  values(request: ValuesRequest) {
    return this.#call('values', request, undefined)
  }

  async close(): Promise<void> {
    this.#closed = true
    const thread = this.#thread
    this.#thread = undefined
    if (thread === undefined || thread.calls.isLost) return
    thread.calls.fail(new TrainerFault('crashed', 'the trainer was closed'))
    await endComputingThread(thread.worker)
  }

  /** Gives up a thread that a loss does not give back. */
  #leave(reason: string): void {
    const thread = this.#thread
    this.#thread = undefined
    thread?.calls.fail(new TrainerFault('bad_loss', reason))
    if (thread !== undefined) void endComputingThread(thread.worker)
  }

  #call<Method extends keyof TrainingMethods>(
    method: Method,
    request: TrainingMethods[Method]['request'],
    onProgress: Progress | undefined,
    signal?: AbortSignal,
  ): Promise<TrainingMethods[Method]['reply']> {
    if (this.#closed) return Promise.reject(new TrainerFault('crashed', 'the trainer is closed'))
    if (this.#thread === undefined || this.#thread.calls.isLost) this.#thread = this.#start()
    return this.#thread.calls.call(method, request, {
      signal,
      onProgress: (counts: TrainingMethods[Method]['progress']) => onProgress?.(counts[0], counts[1]),
    })
  }

  #start(): Thread {
    // The same folder holds the worker's module as source and in the package, under either extension.
    const module = new URL(`./trainer-worker${extname(import.meta.url)}`, import.meta.url)
    const workerData: TrainerWorkerData = { threads: this.#options.threads }
    const worker = startComputingThread(module, { workerData, name: 'trainer' })
    const calls = new ThreadCalls<TrainingMethods>(worker, {
      faults: [TrainerFault],
      onLoss: (loss) =>
        'cause' in loss
          ? new TrainerFault('crashed', `the trainer's thread failed: ${loss.cause}`, { cause: loss.cause })
          : new TrainerFault('crashed', `the trainer's thread ended with code ${loss.exitCode}`),
    })
    return { worker, calls }
  }
}

type Method = Exclude<keyof Trainer, 'close' | 'losses'>
