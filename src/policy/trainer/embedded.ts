/**
 * The embedded trainer: graphs on onnxruntime-node in a worker thread.
 *
 * Invariants
 * - The calling thread is never blocked.
 * - A worker thread that dies fails the calls in hand as `crashed`; the next call starts another.
 * - After `close` no thread is left, and every call in hand has failed.
 */
import { extname } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { endComputingThread, startComputingThread } from '../graph/computing-thread.ts'
import {
  type LogprobsRequest,
  type Trainer,
  TrainerFault,
  type UpdateRequest,
  type WarmStartRequest,
} from './trainer.ts'
import type { MethodRequest, MethodResult, TrainerMethod, TrainerReport } from './trainer-messages.ts'
import type { Progress } from './update.ts'

/** Settings of the embedded trainer. */
export interface EmbeddedTrainerOptions {
  /** Threads of the gradient graph; another count may change results in their last bits. */
  readonly threads: number
}

interface CallInHand {
  readonly onProgress: Progress | undefined
  readonly resolve: (result: never) => void
  readonly reject: (fault: TrainerFault) => void
}

/** A trainer whose thread starts with its first call. */
export function createTrainer(options: EmbeddedTrainerOptions): Trainer {
  return new EmbeddedTrainer(options)
}

class EmbeddedTrainer implements Trainer {
  readonly #options: EmbeddedTrainerOptions
  readonly #calls = new Map<number, CallInHand>()
  #worker: Worker | undefined
  #counter = 0
  #closed = false

  constructor(options: EmbeddedTrainerOptions) {
    this.#options = options
  }

  update(request: UpdateRequest, onProgress?: Progress) {
    return this.#call('update', request, onProgress)
  }

  warmStart(request: WarmStartRequest, onProgress?: Progress) {
    return this.#call('warmStart', request, onProgress)
  }

  logprobs(request: LogprobsRequest) {
    return this.#call('logprobs', request, undefined)
  }

  async close(): Promise<void> {
    this.#closed = true
    const worker = this.#worker
    this.#worker = undefined
    this.#failAll(new TrainerFault('crashed', 'the trainer was closed'))
    if (worker !== undefined) await endComputingThread(worker)
  }

  #call<Method extends TrainerMethod>(
    method: Method,
    request: MethodRequest<Method>,
    onProgress: Progress | undefined,
  ): Promise<MethodResult<Method>> {
    if (this.#closed) return Promise.reject(new TrainerFault('crashed', 'the trainer is closed'))
    const worker = this.#worker ?? this.#start()
    const call = this.#counter++
    return new Promise((resolve, reject) => {
      worker.postMessage({ call, method, request })
      this.#calls.set(call, { onProgress, resolve: resolve as (result: never) => void, reject })
    })
  }

  #start(): Worker {
    // The same folder holds the worker's module as source and in the package, under either extension.
    const module = new URL(`./trainer-worker${extname(import.meta.url)}`, import.meta.url)
    const worker = startComputingThread(module, { workerData: { threads: this.#options.threads } })
    worker.on('message', (report: TrainerReport) => this.#receive(report))
    worker.on('error', (cause) => this.#lose(worker, `the trainer's thread failed: ${cause}`, cause))
    worker.on('exit', (code) => this.#lose(worker, `the trainer's thread ended with code ${code}`))
    this.#worker = worker
    return worker
  }

  #receive(report: TrainerReport): void {
    const call = this.#calls.get(report.call)
    if (call === undefined) return
    switch (report.report) {
      case 'progress':
        call.onProgress?.(report.done, report.total)
        return
      case 'result':
        this.#calls.delete(report.call)
        call.resolve(report.result as never)
        return
      case 'fault':
        this.#calls.delete(report.call)
        call.reject(new TrainerFault(report.kind, report.message))
    }
  }

  #lose(worker: Worker, message: string, cause?: unknown): void {
    if (this.#worker !== worker) return
    this.#worker = undefined
    this.#failAll(new TrainerFault('crashed', message, { cause }))
  }

  #failAll(fault: TrainerFault): void {
    const calls = [...this.#calls.values()]
    this.#calls.clear()
    for (const call of calls) call.reject(fault)
  }
}
