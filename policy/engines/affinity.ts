/**
 * Affinity: the place that serves a growing context, so that what the place keeps of it is used again.
 *
 * Invariants
 * - [AFFINITY-1] A key stays at its place as long as that is among those it may go to.
 * - [AFFINITY-2] A key that is new goes to the place with the fewest requests, the first of several.
 * - Keys that are remembered are bounded; the one used longest ago is forgotten first.
 */

/** Where requests are served. */
export interface Place {
  /** Requests that have no answer yet. */
  readonly open: number
}

const rememberedKeys = 10_000

export class Affinity<P extends Place> {
  readonly #placeOfKey = new Map<string, P>()

  /** @param places at least one */
  placeOf(key: string, places: readonly P[]): P {
    const last = this.#placeOfKey.get(key)
    const place =
      last !== undefined && places.includes(last)
        ? last
        : places.reduce((best, other) => (other.open < best.open ? other : best))
    this.#placeOfKey.delete(key)
    this.#placeOfKey.set(key, place)
    if (this.#placeOfKey.size > rememberedKeys) {
      const [oldest] = this.#placeOfKey.keys()
      if (oldest !== undefined) this.#placeOfKey.delete(oldest)
    }
    return place
  }

  /** @returns where the key was */
  forget(key: string): P | undefined {
    const place = this.#placeOfKey.get(key)
    this.#placeOfKey.delete(key)
    return place
  }
}
