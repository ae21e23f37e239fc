/**
 * Draws from one stream of uniforms, which generated instances are made of.
 *
 * Invariants
 * - The same seed gives the same draws in the same order.
 * - No two instances of a task have the same seed.
 * - A method takes as many uniforms as its comment says, one where it says nothing: another number would
 *   change every instance drawn after it.
 */
import { scrambled, uniforms } from '../../identity/identity.ts'

/** The seed of a split's index-th instance. @param index times the number of splits fits into 32 bits */
export function instanceSeed<Split>(splits: readonly Split[], split: Split, index: number): number {
  return scrambled(index * splits.length + splits.indexOf(split))
}

/** One of the items, undefined where there is none; takes a uniform in any case. @param next uniforms in [0, 1) */
export function drawnFrom<Item>(items: readonly Item[], next: () => number): Item | undefined {
  return items[Math.floor(next() * items.length)]
}

export class Draw {
  readonly #next: () => number

  constructor(seed: number) {
    this.#next = uniforms(seed)
  }

  chance(probability: number): boolean {
    return this.#next() < probability
  }

  /** A whole number from 0 up to `limit`, which is not reached. */
  below(limit: number): number {
    return Math.floor(this.#next() * limit)
  }

  /** A whole number, both ends included. */
  int(low: number, high: number): number {
    return low + this.below(high - low + 1)
  }

  /** @throws RangeError for an empty list */
  one<Member>(members: readonly Member[]): Member {
    const member = members[this.below(members.length)]
    if (member === undefined) throw new RangeError('cannot draw from nothing')
    return member
  }

  /**
   * One of the members, each by its own weight; undefined where all weights are 0.
   * @param weights as many as members, none negative
   */
  weighted<Member>(members: readonly Member[], weights: readonly number[]): Member | undefined {
    let left = this.#next() * weights.reduce((sum, weight) => sum + weight, 0)
    return members.find((_, index) => {
      left -= weights[index] ?? 0
      return left < 0
    })
  }

  /** All members in a drawn order; takes a uniform for each. */
  shuffled<Member>(members: readonly Member[]): Member[] {
    return members
      .map((member) => ({ member, rank: this.#next() }))
      .sort((left, right) => left.rank - right.rank)
      .map(({ member }) => member)
  }

  /** So many different members in a drawn order, all where there are fewer; takes a uniform for each member. */
  some<Member>(members: readonly Member[], count: number): Member[] {
    return this.shuffled(members).slice(0, count)
  }

  /** As `some`, but one drawn after the other: takes a uniform for each that is drawn, hence draws others. */
  oneByOne<Member>(members: readonly Member[], count: number): Member[] {
    const rest = [...members]
    const taken: Member[] = []
    while (taken.length < count && rest.length > 0) taken.push(...rest.splice(this.below(rest.length), 1))
    return taken
  }

  /** So many results of a function of the position; takes what the function takes. */
  times<Result>(count: number, make: (index: number) => Result): Result[] {
    return Array.from({ length: count }, (_, index) => make(index))
  }
}
