/**
 * A drawn order (Fisher and Yates).
 *
 * Invariants
 * - It holds every item as often as it was given.
 * - The same uniforms give the same order; it takes one for each item but the last.
 */

/**
 * The items in a drawn order; each order is as likely as any other.
 * @param next uniforms in [0, 1)
 * @example shuffled(['a', 'b', 'c'], () => 0) // ['b', 'c', 'a']
 */
export function shuffled<Item>(items: readonly Item[], next: () => number): Item[] {
  const order = [...items]
  for (let last = order.length - 1; last > 0; last--) {
    const other = Math.floor(next() * (last + 1))
    const moved = order[last] as Item
    order[last] = order[other] as Item
    order[other] = moved
  }
  return order
}
