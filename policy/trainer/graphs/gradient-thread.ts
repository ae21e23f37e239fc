/**
 * The near side of a gradient thread.
 *
 * Invariants
 * - Every share and task given settles: with its results, or with a fault, also when the thread dies.
 * - A thread without work keeps no process alive.
 */
import { extname } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { endComputingThread, startComputingThread } from '../../graph/computing-thread.ts'
import { RuntimeFault } from '../../graph/runtime.ts'
import type { Architecture } from '../../transformer/architecture.ts'
import type { GraphKind } from '../../transformer/objective-graph.ts'
import type { Gradients } from './gradient-sum.ts'
import type { GraphWork, TokenResults } from './graph-sessions.ts'
import type { WeightTask } from './weight-task.ts'

interface OpenShare {
  readonly results: TokenResults[]
  readonly works: number
  readonly onResult: () => void
  readonly resolve: (results: readonly TokenResults[]) => void
  readonly reject: (fault: RuntimeFault) => void
}

interface OpenTask {
  readonly resolve: (numbers: readonly number[]) => void
  readonly reject: (fault: RuntimeFault) => void
}

/** A thread's share of a batch. Weights and sums are in shared memory; the thread changes its sums
 * alone, and begins them at zero. */
export interface ShareMessage {
  readonly share: number
  readonly architecture: Architecture
  readonly kind: GraphKind
  readonly weights: ReadonlyMap<string, Float32Array>
  readonly sums: Gradients | undefined
  readonly works: readonly GraphWork[]
}

/** A thread's part of a task. */
export interface TaskMessage {
  readonly share: number
  readonly task: WeightTask
}

/** The results of a share's works come run by run, in order. */
export type ShareReport = { readonly share: number } & (
  | { readonly report: 'results'; readonly results: readonly TokenResults[] }
  | { readonly report: 'task'; readonly numbers: readonly number[] }
  | { readonly report: 'fault'; readonly message: string }
)

export class GradientThread {
  readonly #worker: Worker
  readonly #open = new Map<number, OpenShare>()
  readonly #tasks = new Map<number, OpenTask>()
  #counter = 0
  #dead = false

  constructor() {
    // The same folder holds the worker's module as source and in the package, under either extension.
    const module = new URL(`./gradient-worker${extname(import.meta.url)}`, import.meta.url)
    this.#worker = startComputingThread(module, { name: 'gradient' })
    this.#worker.on('message', (report: ShareReport) => this.#receive(report))
    this.#worker.on('error', (cause) => this.#lose(`a gradient thread failed: ${cause}`, cause))
    this.#worker.on('exit', (code) => this.#lose(`a gradient thread ended with code ${code}`))
    this.#worker.unref()
  }

  /** Whether it can take no more work. */
  get dead(): boolean {
    return this.#dead
  }

  /** @param onResult called with every work that is done @throws RuntimeFault */
  async perform(share: Omit<ShareMessage, 'share'>, onResult: () => void): Promise<readonly TokenResults[]> {
    if (share.works.length === 0) return []
    const id = this.#counter++
    return await new Promise((resolve, reject) => {
      this.#worker.postMessage({ share: id, ...share } satisfies ShareMessage)
      this.#open.set(id, { results: [], works: share.works.length, onResult, resolve, reject })
      this.#worker.ref()
    })
  }

  /** @returns what `performTask` does @throws RuntimeFault */
  async performTask(task: WeightTask): Promise<readonly number[]> {
    const id = this.#counter++
    return await new Promise((resolve, reject) => {
      this.#worker.postMessage({ share: id, task } satisfies TaskMessage)
      this.#tasks.set(id, { resolve, reject })
      this.#worker.ref()
    })
  }

  async end(): Promise<void> {
    await endComputingThread(this.#worker)
  }

  #receive(report: ShareReport): void {
    if (report.report === 'task') {
      const task = this.#tasks.get(report.share)
      this.#settle(report.share)
      task?.resolve(report.numbers)
      return
    }
    const open = this.#open.get(report.share)
    if (open === undefined) return
    if (report.report === 'fault') {
      this.#settle(report.share)
      open.reject(new RuntimeFault('run', report.message))
      return
    }
    open.results.push(...report.results)
    for (const _ of report.results) open.onResult()
    if (open.results.length < open.works) return
    this.#settle(report.share)
    open.resolve(open.results)
  }

  #settle(share: number): void {
    this.#open.delete(share)
    this.#tasks.delete(share)
    if (this.#open.size + this.#tasks.size === 0) this.#worker.unref()
  }

  #lose(message: string, cause?: unknown): void {
    this.#dead = true
    const open = [...this.#open.values(), ...this.#tasks.values()]
    this.#open.clear()
    this.#tasks.clear()
    for (const { reject } of open) reject(new RuntimeFault('run', message, { cause }))
  }
}
