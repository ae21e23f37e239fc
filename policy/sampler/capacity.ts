/**
 * How much room a context gets, so that short ones do not pay for long ones.
 *
 * Invariants
 * - A capacity holds its length, wastes less than 128 places or a third of itself, and grows with it.
 * - There are few capacities: 128, 256, 384, 512, 768, 1024, 1536, 2048, 3072, …
 */

const step = 128

/** The smallest capacity for `length` tokens. */
export function capacityFor(length: number): number {
  let unit = step
  while (4 * unit < length) unit *= 2
  return Math.max(step, Math.ceil(length / unit) * unit)
}
