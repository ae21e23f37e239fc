/**
 * Unused batches, kept for the next request of their capacity.
 *
 * Invariants
 * - They never hold more than their limit; what was not used for longest goes first.
 * - A batch that was taken is kept no more.
 */
import type { Batch } from './batch.ts'

export class SpareBatches {
  readonly #limitBytes: number
  /** The one that was used last at the end. */
  readonly #batches: Batch[] = []

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes
  }

  /** Memory of their keys and values. */
  get bytes(): number {
    return this.#batches.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  put(batch: Batch): void {
    this.#batches.push(batch)
    while (this.bytes > this.#limitBytes) this.#batches.shift()
  }

  /** The one of that capacity that was used last. */
  take(capacity: number): Batch | undefined {
    const at = this.#batches.findLastIndex((batch) => batch.capacity === capacity)
    return at < 0 ? undefined : this.#batches.splice(at, 1)[0]
  }
}
