/**
 * Who sits in which slot of a batch, and whether it is still being prefilled.
 *
 * Invariants
 * - A slot is free, prefilling or decoding; moving a request takes its cache, its phase and its turn along.
 * - After `closeRanks` at most a fifth of the slots that a decode step reads are free.
 */
import type { Batch } from './batch.ts'
import type { Job } from './job.ts'
import type { PendingPrefill } from './scheduler.ts'

export class RunningBatch {
  readonly batch: Batch
  /** All its requests yield to those of other batches. */
  readonly background: boolean
  /** Steps of others since a step of the kind ran. */
  readonly age = { prefill: 0, decode: 0 }
  readonly #jobs: (Job | undefined)[]
  /** Slots that wait for prefill, the oldest first. */
  readonly #prefilling: number[] = []
  #occupied = 0

  constructor(batch: Batch, background = false) {
    this.batch = batch
    this.background = background
    this.#jobs = new Array<Job | undefined>(batch.slots).fill(undefined)
  }

  get full(): boolean {
    return this.#occupied === this.#jobs.length
  }

  get empty(): boolean {
    return this.#occupied === 0
  }

  /** Rows that wait for prefill. */
  get prefilling(): number {
    return this.#prefilling.length
  }

  /** Rows that a decode step would lengthen. */
  get decoding(): number {
    return this.#occupied - this.#prefilling.length
  }

  /** Slots that a decode step must read: all up to the last that is taken. */
  get width(): number {
    return this.#jobs.findLastIndex((job) => job !== undefined) + 1
  }

  /** Requests and their slots. */
  *entries(): Generator<readonly [slot: number, job: Job]> {
    for (const [slot, job] of this.#jobs.entries()) if (job !== undefined) yield [slot, job]
  }

  /** The request in a slot that is taken. */
  jobAt(slot: number): Job {
    return this.#jobs[slot] as Job
  }

  isDecoding(slot: number): boolean {
    return this.#jobs[slot] !== undefined && !this.#prefilling.includes(slot)
  }

  /** Seats a request in the first free slot. @returns the slot */
  seat(job: Job, phase: 'prefilling' | 'decoding'): number {
    const slot = this.#jobs.indexOf(undefined)
    this.#jobs[slot] = job
    this.#occupied++
    if (phase === 'prefilling') this.#prefilling.push(slot)
    return slot
  }

  /** The slot's context is complete. */
  startDecoding(slot: number): void {
    this.#prefilling.splice(this.#prefilling.indexOf(slot), 1)
  }

  /** Frees a slot. */
  vacate(slot: number): void {
    this.#jobs[slot] = undefined
    this.#occupied--
    const waiting = this.#prefilling.indexOf(slot)
    if (waiting >= 0) this.#prefilling.splice(waiting, 1)
  }

  /**
   * Slots that wait for prefill, the oldest first, and what can be fed at once.
   * @param exact whether contexts are fed turn by turn
   */
  pending(exact: boolean): PendingPrefill[] {
    return this.#prefilling.map((slot) => {
      const length = this.batch.lengths[slot] as number
      const job = this.jobAt(slot)
      const end = exact ? job.partEnd(length) : job.length
      return { slot, tokens: end - length, fresh: length === 0 }
    })
  }

  /** Moves the last slots into holes where reading holes costs more than moving; a move costs about two reads. */
  closeRanks(): void {
    for (;;) {
      const last = this.width - 1
      const hole = this.#jobs.indexOf(undefined)
      if (hole < 0 || hole > last || last + 1 - this.#occupied <= this.#occupied / 4) return
      this.batch.copyTo(this.batch, last, hole)
      this.#jobs[hole] = this.#jobs[last]
      this.#jobs[last] = undefined
      const waiting = this.#prefilling.indexOf(last)
      if (waiting >= 0) this.#prefilling[waiting] = hole
    }
  }
}
