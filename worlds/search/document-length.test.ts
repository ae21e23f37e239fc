import { expect, test } from 'vitest'
import { byteToLength, lengthToByte } from './document-length.ts'

test('up to 40 a length comes back exactly; beyond, four leading bits are kept, rounded down', () => {
  for (let length = 0; length <= 40; length++) expect(byteToLength(lengthToByte(length))).toBe(length)
  // 24 stay as they are; of the rest, 24 + 1000 = 0b1111101000 keeps 0b1111 and six zeros: 960.
  expect(byteToLength(lengthToByte(24 + 1000))).toBe(24 + 960)
})

test('a greater length never has a smaller byte, and every length has one', () => {
  let before = 0
  for (let length = 0; length < 5000; length++) {
    const byte = lengthToByte(length)
    expect(byte).toBeGreaterThanOrEqual(before)
    before = byte
  }
  expect(lengthToByte(2 ** 31 - 1)).toBe(255)
})
