/**
 * Numbers in one byte, as Lucene keeps the length of a document (SmallFloat.intToByte4).
 *
 * Invariants
 * - Up to 40 the number comes back exactly; from there on four leading bits are kept, rounded down.
 * - A greater number never has a smaller byte.
 */

// So many numbers are kept as they are; Lucene derives it from the byte of the greatest integer.
const exactNumbers = 24

/** Keeps the four leading bits of a number, and where they are. */
function packFloat(value: number): number {
  const bits = 32 - Math.clz32(value)
  if (bits < 4) return value
  const shift = bits - 4
  return ((value >>> shift) & 7) | ((shift + 1) << 3)
}

function unpackFloat(packed: number): number {
  const shift = (packed >>> 3) - 1
  const bits = packed & 7
  return shift < 0 ? bits : (bits | 8) * 2 ** shift
}

/** @param length terms of a document, from 0 on */
export function lengthToByte(length: number): number {
  return length < exactNumbers ? length : exactNumbers + packFloat(length - exactNumbers)
}

/** @returns the length that a byte encodes */
export function byteToLength(byte: number): number {
  return byte < exactNumbers ? byte : exactNumbers + unpackFloat(byte - exactNumbers)
}
