/**
 * Keys and values of contexts between turns, by key and version.
 *
 * Invariants
 * - A lookup finds the longest prefix of a context that its own key holds under the version. Another
 *   key's prefix would serve as well except for rounding, and whether it is there depends on timing.
 * - Memory stays below the budget; the least recently used entries go first.
 * - Forgetting an entry changes no result beyond rounding, only the work to come.
 * - A capacity holds its length, wastes less than 128 places or a third of itself, and grows with it. There are few.
 */

/** One context's keys and values: `data` is [2·layers, keyValueHeads, capacity, headDim]. */
export interface CachedContext {
  readonly key: string
  readonly version: number
  readonly capacity: number
  readonly tokens: Int32Array
  readonly data: Float32Array
  /** Positions that hold something. */
  length: number
}

/** A prefix found: the first `length` positions of `entry`. */
export interface FoundPrefix {
  readonly entry: CachedContext
  readonly length: number
}

export class PrefixCache {
  readonly #floatsPerPosition: number
  readonly #budget: number
  /** In order of use, the oldest first. */
  readonly #entries = new Map<string, CachedContext>()
  readonly #pool = new Map<number, Float32Array[]>()
  #floats = 0

  /** @param floatsPerPosition 2·layers·keyValueHeads·headDim */
  constructor(options: { readonly floatsPerPosition: number; readonly budgetBytes: number }) {
    this.#floatsPerPosition = options.floatsPerPosition
    this.#budget = options.budgetBytes / Float32Array.BYTES_PER_ELEMENT
  }

  get size(): number {
    return this.#entries.size
  }

  get bytes(): number {
    return this.#floats * Float32Array.BYTES_PER_ELEMENT
  }

  /** The longest prefix of the context that its key holds, shorter than the context; undefined where none is. */
  find(key: string, version: number, context: Int32Array): FoundPrefix | undefined {
    const limit = context.length - 1 // the last token's hidden state is wanted, so it is always computed
    const entry = this.#entries.get(identity(key, version))
    if (entry === undefined) return undefined
    this.#touch(entry)
    const length = Math.min(limit, commonPrefix(entry.tokens, entry.length, context))
    return length === 0 ? undefined : { entry, length }
  }

  /**
   * Makes room for a context and says from which position on the caller must fill `data`.
   * @param tokens the context; its first `length` are taken
   * @returns undefined when the budget cannot hold it
   */
  store(
    key: string,
    version: number,
    tokens: Int32Array,
    length: number,
  ): { readonly entry: CachedContext; readonly from: number } | undefined {
    const id = identity(key, version)
    const known = this.#entries.get(id)
    if (known !== undefined && known.capacity >= length) {
      const from = commonPrefix(known.tokens, known.length, tokens.subarray(0, length))
      known.tokens.set(tokens.subarray(from, length), from)
      known.length = length
      this.#touch(known)
      return { entry: known, from }
    }
    if (known !== undefined) this.#drop(id, known)
    const capacity = capacityFor(length)
    const data = this.#allocate(capacity)
    if (data === undefined) return undefined
    const held = new Int32Array(capacity)
    held.set(tokens.subarray(0, length))
    const entry: CachedContext = { key, version, capacity, tokens: held, data, length }
    this.#entries.set(id, entry)
    return { entry, from: 0 }
  }

  /** Forgets all versions' contexts of a key. */
  release(key: string): void {
    for (const [id, entry] of this.#entries) if (entry.key === key) this.#drop(id, entry)
  }

  /** Forgets all contexts of a version. */
  unload(version: number): void {
    for (const [id, entry] of this.#entries) if (entry.version === version) this.#drop(id, entry)
  }

  #touch(entry: CachedContext): void {
    const id = identity(entry.key, entry.version)
    this.#entries.delete(id)
    this.#entries.set(id, entry)
  }

  #drop(id: string, entry: CachedContext): void {
    this.#entries.delete(id)
    const free = this.#pool.get(entry.capacity)
    if (free === undefined) this.#pool.set(entry.capacity, [entry.data])
    else free.push(entry.data)
  }

  /** Reuses an array of that size, else allocates, freeing what is unused and then what is oldest. */
  #allocate(capacity: number): Float32Array | undefined {
    const size = capacity * this.#floatsPerPosition
    if (size > this.#budget) return undefined
    for (;;) {
      const pooled = this.#pool.get(capacity)?.pop()
      if (pooled !== undefined) return pooled
      if (this.#floats + size <= this.#budget) {
        this.#floats += size
        return new Float32Array(size)
      }
      const unused = [...this.#pool.values()].find((arrays) => arrays.length > 0)
      if (unused !== undefined) this.#floats -= unused.pop()?.length ?? 0
      else {
        const [oldest] = this.#entries
        if (oldest === undefined) return undefined
        this.#drop(...oldest)
      }
    }
  }
}

function identity(key: string, version: number): string {
  return `${version}\u0000${key}`
}

/** How many of the first tokens agree. */
export function commonPrefix(held: Int32Array, heldLength: number, context: Int32Array): number {
  const limit = Math.min(heldLength, context.length)
  let length = 0
  while (length < limit && held[length] === context[length]) length++
  return length
}

const step = 128

/** The smallest capacity for `length` tokens. */
export function capacityFor(length: number): number {
  let unit = step
  while (4 * unit < length) unit *= 2
  return Math.max(step, Math.ceil(length / unit) * unit)
}
