/**
 * Lists of numbers of a fixed width that grow: what an index of unknown size is gathered in.
 *
 * Invariants
 * - Numbers are read back in the order in which they were added; growing copies them and loses none.
 */

type Numbers = Float64Array | Uint32Array | Uint16Array | Uint8Array

/** A list over one typed array, which is replaced by one twice as long when it is full. */
export class GrowingList<Kind extends Numbers> {
  #values: Kind
  #length = 0
  readonly #allocate: (length: number) => Kind

  constructor(allocate: (length: number) => Kind) {
    this.#allocate = allocate
    this.#values = allocate(1024)
  }

  get length(): number {
    return this.#length
  }

  push(value: number): void {
    if (this.#length === this.#values.length) {
      const grown = this.#allocate(this.#length * 2)
      grown.set(this.#values)
      this.#values = grown
    }
    this.#values[this.#length++] = value
  }

  /** The numbers so far; not a copy, so it is read before anything more is added. */
  view(): Kind {
    return this.#values.subarray(0, this.#length) as Kind
  }
}
