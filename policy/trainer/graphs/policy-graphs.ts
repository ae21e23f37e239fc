/**
 * Runs of the training graphs over a batch's micro-batches.
 *
 * The operations of a small policy are too short to be shared between cores, so each core computes micro-batches of
 * its own, small enough to stay in its cache. The weights and gradients of a large policy are held once, and all
 * cores share each operation.
 *
 * Invariants
 * - Which thread computes a micro-batch follows from the batch and the number of threads alone.
 * - Results come in the order of the micro-batches.
 */
import type { InferenceSession } from '../../graph/runtime.ts'
import { type Architecture, beyondWindow } from '../../transformer/architecture.ts'
import type { GraphKind } from '../../transformer/objective-graph.ts'
import { TrainerFault } from '../trainer.ts'
import type { OptimizedWeight } from '../update/adamw.ts'
import type { MicroBatch } from '../update/micro-batch.ts'
import { clear, type GradientSum, isSummedApart, type ThreadSums } from './gradient-sum.ts'
import { GradientThread } from './gradient-thread.ts'
import {
  GraphSessions,
  type GraphWork,
  runsOf,
  type TokenResults,
  type WeightFeeds,
} from './graph-sessions.ts'
import { type AdamwCourse, performTask, type WeightTask } from './weight-task.ts'

/** Tokens of a micro-batch that one core computes: more of them leave its cache, fewer cost their own gradients. */
const tokensInCache = 768

/** Elements of all weights from which threads share a task: fewer take less time than to wake another thread. */
const worthSharing = 2 ** 17

/** A policy whose graphs run. */
export interface GraphPolicy {
  readonly architecture: Architecture
  readonly feeds: WeightFeeds
}

export class PolicyGraphs {
  readonly #threads: number
  /** The sessions of the calling thread: a graph at a time, on one core and on all. */
  readonly #apart = new GraphSessions(1)
  readonly #together: GraphSessions
  readonly #others: GradientThread[] = []

  constructor(threads: number) {
    this.#threads = threads
    this.#together = new GraphSessions(threads)
  }

  /** Tokens of a micro-batch at most, where `asked` may be held at once by all threads. */
  tokenLimit(architecture: Architecture, asked: number): number {
    if (!isSummedApart(architecture)) return asked
    return Math.min(tokensInCache, Math.floor(asked / this.#threads))
  }

  /**
   * Runs micro-batches.
   * @param gradient becomes the sum of the gradients; must be given exactly for kinds that have some
   * @param onDone called with every micro-batch that is done
   * @throws RuntimeFault; TrainerFault `bad_batch` for episodes that are longer than the window of the policy
   */
  async run(
    { architecture, feeds }: GraphPolicy,
    kind: GraphKind,
    works: readonly GraphWork[],
    gradient?: GradientSum,
    onDone: () => void = () => {},
  ): Promise<readonly TokenResults[]> {
    refuseBeyondWindow(architecture, works)
    const costs = works.map(({ micro }) => costOf(architecture, micro))
    const shares = sharesOf(costs, isSummedApart(architecture) ? this.#threads : 1)
    const weights = new Map(Object.entries(feeds).map(([name, { data }]) => [name, data]))
    const others = shares.slice(1).map((share, index) => {
      const part = { architecture, kind, weights, sums: gradient?.part(index + 1) }
      return this.#other(index).perform({ ...part, works: share.map((at) => works[at] as GraphWork) }, onDone)
    })
    const theirs = Promise.all(others)
    theirs.catch(() => {}) // awaited below, after this thread's own share
    const results = new Array<TokenResults>(works.length)
    const sessions = isSummedApart(architecture) ? this.#apart : this.#together
    const own = shares[0] ?? []
    let done = 0
    if (gradient !== undefined) clear(gradient.gradients)
    for (const run of runsOf(own.map((at) => works[at] as GraphWork))) {
      const found = await sessions.run(architecture, kind, feeds, run, gradient?.gradients)
      for (const result of found) {
        results[own[done++] as number] = result
        onDone()
      }
    }
    for (const [index, found] of (await theirs).entries())
      for (const [place, at] of (shares[index + 1] as readonly number[]).entries())
        results[at] = found[place] as TokenResults
    if (gradient !== undefined) gradient.squares = await this.#addUp(gradient.sumsOf(shares.length))
    return results
  }

  /** One step of AdamW for every weight. @throws RuntimeFault */
  async step(weights: readonly OptimizedWeight[], course: AdamwCourse): Promise<void> {
    const sizes = weights.map(({ weight }) => weight.length)
    await this.#inParts(sizes, (part) => ({
      task: 'step',
      weights: part.map((at) => weights[at] as OptimizedWeight),
      course,
    }))
  }

  /** The inference session of a kind of graph on the calling thread, made at its first use. */
  session(architecture: Architecture, kind: GraphKind): Promise<InferenceSession> {
    return (isSummedApart(architecture) ? this.#apart : this.#together).session(architecture, kind)
  }

  /** Ends the other threads and frees all inference sessions. */
  async release(): Promise<void> {
    await Promise.all(this.#others.splice(0).map((thread) => thread.end()))
    await this.#apart.release()
    await this.#together.release()
  }

  /** @returns the sum of squares of each */
  #addUp(sums: readonly ThreadSums[]): Promise<readonly number[]> {
    const sizes = sums.map(({ whole }) => whole.length)
    return this.#inParts(sizes, (part) => ({ task: 'add', sums: part.map((at) => sums[at] as ThreadSums) }))
  }

  /** Performs a task on every thread, with a part of the weights each. @returns the numbers of each weight */
  async #inParts(
    sizes: readonly number[],
    taskOf: (part: readonly number[]) => WeightTask,
  ): Promise<readonly number[]> {
    const elements = sizes.reduce((sum, size) => sum + size, 0)
    const parts = sharesOf(sizes, elements < worthSharing ? 1 : this.#threads)
    const others = parts.slice(1).map((part, index) => this.#other(index).performTask(taskOf(part)))
    const theirs = Promise.all(others)
    theirs.catch(() => {}) // awaited below, after this thread's own part
    const found = [performTask(taskOf(parts[0] ?? [])), ...(await theirs)]
    const numbers = new Array<number>(sizes.length)
    for (const [index, part] of parts.entries())
      for (const [place, at] of part.entries()) numbers[at] = found[index]?.[place] as number
    return numbers
  }

  #other(index: number): GradientThread {
    if (this.#others[index]?.dead !== false) this.#others[index] = new GradientThread()
    return this.#others[index] as GradientThread
  }
}

/** Places up to the last that predicts are computed; padding is not looked at. @throws TrainerFault `bad_batch` */
function refuseBeyondWindow(architecture: Architecture, works: readonly GraphWork[]): void {
  if (architecture.sliding_window === undefined) return
  const longest = works.reduce(
    (most, { micro: { rows, time } }) =>
      rows.reduce((furthest, row) => Math.max(furthest, (Number(row) % time) + 1), most),
    0,
  )
  const beyond = beyondWindow(architecture, longest)
  if (beyond !== undefined) throw new TrainerFault('bad_batch', `${beyond}: lower policy.contextLength`)
}

/** Shares work among at most `threads`: the longest goes to the one with least to do, then some are exchanged. */
function sharesOf(costs: readonly number[], threads: number): readonly (readonly number[])[] {
  const count = Math.max(1, Math.min(threads, costs.length))
  const shares = Array.from({ length: count }, (): Share => ({ load: 0, works: [] }))
  const byCost = [...costs.keys()].sort((a, b) => (costs[b] as number) - (costs[a] as number) || a - b)
  for (const at of byCost) {
    const least = shares.reduce((best, share) => (share.load < best.load ? share : best))
    least.load += costs[at] as number
    least.works.push(at)
  }
  while (exchange(shares, costs));
  return shares.map((share) => share.works.sort((a, b) => a - b))
}

interface Share {
  load: number
  readonly works: number[]
}

/**
 * Exchanges the two works, of the share with most to do and of the one with least, that bring them closest.
 * @returns false where no exchange does
 */
function exchange(shares: readonly Share[], costs: readonly number[]): boolean {
  const most = shares.reduce((best, share) => (share.load > best.load ? share : best))
  const least = shares.reduce((best, share) => (share.load < best.load ? share : best))
  const gap = most.load - least.load
  let best = { moved: 0, rest: gap, from: -1, to: -1 }
  for (const [from, given] of most.works.entries()) {
    for (const [to, taken] of least.works.entries()) {
      const moved = (costs[given] as number) - (costs[taken] as number)
      const rest = Math.abs(gap - 2 * moved)
      if (rest < best.rest) best = { moved, rest, from, to }
    }
  }
  if (best.from < 0) return false
  const given = most.works[best.from] as number
  most.works[best.from] = least.works[best.to] as number
  least.works[best.to] = given
  most.load -= best.moved
  least.load += best.moved
  return true
}

/** Multiplications of a token in a layer, and what attention adds for the tokens before it. */
function costOf(
  { hidden_size: width, intermediate_size: inner }: Architecture,
  { batch, time }: MicroBatch,
): number {
  return batch * time * (3 * width + 3 * inner + 2 * time)
}
