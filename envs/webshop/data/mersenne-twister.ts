/**
 * Python's generator of random numbers, as far as `random.seed(n)` and `random.shuffle` need it: the published
 * shop numbers its goals by such a shuffle.
 *
 * Source: M. Matsumoto and T. Nishimura, MT19937 (1998), with CPython's seeding by array.
 *
 * Invariants
 * - The same seed gives the permutation that CPython 3 gives.
 */
const size = 624
const period = 397

class MersenneTwister {
  readonly #state = new Uint32Array(size)
  #next = size

  constructor(seed: number) {
    this.#fill(19_650_218)
    let place = 1
    for (let step = 0; step < size; step++) {
      const before = this.#at(place - 1)
      const mixed = Math.imul(before ^ (before >>> 30), 1_664_525)
      this.#state[place] = (this.#at(place) ^ mixed) + seed
      place = this.#advance(place)
    }
    for (let step = 1; step < size; step++) {
      const before = this.#at(place - 1)
      const mixed = Math.imul(before ^ (before >>> 30), 1_566_083_941)
      this.#state[place] = (this.#at(place) ^ mixed) - place
      place = this.#advance(place)
    }
    this.#state[0] = 0x80000000
  }

  #at(place: number): number {
    return this.#state[place] ?? 0
  }

  #fill(seed: number): void {
    this.#state[0] = seed
    for (let place = 1; place < size; place++) {
      const before = this.#at(place - 1)
      this.#state[place] = Math.imul(before ^ (before >>> 30), 1_812_433_253) + place
    }
  }

  #advance(place: number): number {
    if (place + 1 < size) return place + 1
    this.#state[0] = this.#at(size - 1)
    return 1
  }

  #bits32(): number {
    if (this.#next === size) this.#twist()
    let value = this.#at(this.#next++)
    value ^= value >>> 11
    value ^= (value << 7) & 0x9d2c5680
    value ^= (value << 15) & 0xefc60000
    value ^= value >>> 18
    return value >>> 0
  }

  #twist(): void {
    for (let place = 0; place < size; place++) {
      const joined = (this.#at(place) & 0x80000000) | (this.#at((place + 1) % size) & 0x7fffffff)
      const shifted = (joined >>> 1) ^ ((joined & 1) === 0 ? 0 : 0x9908b0df)
      this.#state[place] = this.#at((place + period) % size) ^ shifted
    }
    this.#next = 0
  }

  /** A whole number from 0 up to `limit`, which is not reached. @param limit from 1 to 2³² */
  below(limit: number): number {
    const bits = 32 - Math.clz32(limit)
    for (;;) {
      const value = this.#bits32() >>> (32 - bits)
      if (value < limit) return value
    }
  }
}

/** The place of each of `length` things after `random.seed(seed); random.shuffle(things)`. */
export function shuffledOrder(length: number, seed: number): Uint32Array {
  const random = new MersenneTwister(seed)
  const order = Uint32Array.from({ length }, (_, index) => index)
  for (let last = length - 1; last > 0; last--) {
    const other = random.below(last + 1)
    const kept = order[last] ?? 0
    order[last] = order[other] ?? 0
    order[other] = kept
  }
  return order
}
