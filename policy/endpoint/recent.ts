/**
 * Values that a server keeps for a while, the newest within its bounds.
 *
 * Invariants
 * - [RECENT-1] There are never more than `most` values or `mostCharacters` characters, and none is older than `ms`.
 */
import { clock } from '../../machine/services/clock.ts'

export interface RecentBounds {
  readonly most: number
  readonly mostCharacters: number
  readonly ms: number
}

interface Kept<Value> {
  readonly value: Value
  readonly size: number
  readonly until: number
}

export class Recent<Value> {
  readonly #bounds: RecentBounds
  /** By key, the oldest first. */
  readonly #kept = new Map<string, Kept<Value>>()
  #characters = 0

  constructor(bounds: RecentBounds) {
    this.#bounds = bounds
  }

  /** @param size characters that the value takes */
  keep(key: string, value: Value, size: number): void {
    this.#remove(key)
    this.#kept.set(key, { value, size, until: clock.monotonic() + this.#bounds.ms })
    this.#characters += size
    this.#removeOldest()
  }

  get(key: string): Value | undefined {
    this.#removeOldest()
    return this.#kept.get(key)?.value
  }

  /** The newest first. */
  newest(): readonly Value[] {
    this.#removeOldest()
    return [...this.#kept.values()].map(({ value }) => value).reverse()
  }

  #removeOldest(): void {
    const { most, mostCharacters } = this.#bounds
    const now = clock.monotonic()
    for (const [key, { until }] of this.#kept) {
      if (until > now && this.#kept.size <= most && this.#characters <= mostCharacters) return
      this.#remove(key)
    }
  }

  #remove(key: string): void {
    this.#characters -= this.#kept.get(key)?.size ?? 0
    this.#kept.delete(key)
  }
}
