/**
 * Order of instances: a fixed shuffle of a split, so that neighbours in a file are not neighbours in training.
 *
 * Invariants
 * - Every window of `size` positions that starts at a multiple of it visits each instance exactly once.
 * - The order depends on the size alone: the first n instances of a suite are the same in every run.
 */

/**
 * The instance at a position of the shuffled split.
 * @param size number of instances; Infinity keeps the order, since generated instances are shuffled already
 * @param position integer from 0
 * @returns index in [0, size)
 * @throws RangeError size below 1
 * @example [0, 1, 2, 3, 4].map((position) => instanceOrder(5, position)).toSorted() // [0, 1, 2, 3, 4]
 */
export function instanceOrder(size: number, position: number): number {
  if (!(size >= 1)) throw new RangeError(`a split needs at least one instance, got ${size}`)
  if (size === Number.POSITIVE_INFINITY) return position
  const stride = strideOf(size)
  return Number((BigInt(position % size) * BigInt(stride) + BigInt(Math.floor(size / 3))) % BigInt(size))
}

/** Where the last instances of an endless split begin: so far that no run comes there from the first. */
const endless = 2 ** 28

/**
 * The position of an instance counted from the end of the order, so that what is taken from there and what is taken from the
 * beginning are different instances as long as the split has enough.
 * @param back integer from 0
 * @example [0, 1, 4].map((back) => positionFromEnd(3, back)) // [2, 1, 1]
 */
export function positionFromEnd(size: number, back: number): number {
  return size === Number.POSITIVE_INFINITY ? endless + back : size - 1 - (back % size)
}

/** A stride near the golden section of the size, coprime to it: successive positions lie far apart. */
function strideOf(size: number): number {
  let stride = Math.max(1, Math.round(size * 0.6180339887498949))
  while (greatestCommonDivisor(stride, size) !== 1) stride += 1
  return stride
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b)
}
