/**
 * A priority queue of token pairs: most frequent first, of equals the lower pair.
 *
 * Invariants
 * - A popped pair is never less frequent than a pair that remains.
 */

/** A pair (as one number) with its count at the time it was pushed. */
export interface QueuedPair {
  readonly pair: number
  readonly count: number
}

function precedes(a: QueuedPair, b: QueuedPair): boolean {
  return a.count > b.count || (a.count === b.count && a.pair < b.pair)
}

/** Binary heap. */
export class PairQueue {
  readonly #heap: QueuedPair[] = []

  push(pair: number, count: number): void {
    const entry = { pair, count }
    const heap = this.#heap
    let at = heap.push(entry) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      const above = heap[parent] as QueuedPair
      if (!precedes(entry, above)) break
      heap[at] = above
      at = parent
    }
    heap[at] = entry
  }

  pop(): QueuedPair | undefined {
    const heap = this.#heap
    const top = heap[0]
    const last = heap.pop()
    if (top === undefined || last === undefined || heap.length === 0) return top
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      const right = heap[child + 1]
      if (right !== undefined && precedes(right, heap[child] as QueuedPair)) child++
      const below = heap[child] as QueuedPair
      if (!precedes(below, last)) break
      heap[at] = below
      at = child
    }
    heap[at] = last
    return top
  }
}
