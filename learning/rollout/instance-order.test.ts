import fc from 'fast-check'
import { expect, it } from 'vitest'
import { instanceOrder, positionFromEnd } from './instance-order.ts'

it('every window of size positions visits each instance exactly once', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 400 }), fc.integer({ min: 0, max: 3 }), (size, window) => {
      const visited = Array.from({ length: size }, (_, i) => instanceOrder(size, window * size + i))
      expect(visited.toSorted((a, b) => a - b)).toEqual(Array.from({ length: size }, (_, i) => i))
    }),
  )
})

it('the first instances of a split that is sorted by kind are of every kind in proportion', () => {
  // 3,553 instances in six equal blocks: the first 100 hold 16 or 17 of each, give or take 2.
  const kinds = Array.from({ length: 100 }, (_, i) => Math.floor((instanceOrder(3553, i) * 6) / 3553))
  for (let kind = 0; kind < 6; kind++)
    expect(Math.abs(kinds.filter((other) => other === kind).length - 100 / 6)).toBeLessThan(3)
})

it('generated instances keep their order and a split without instances is refused', () => {
  expect(instanceOrder(Number.POSITIVE_INFINITY, 7)).toBe(7)
  expect(() => instanceOrder(0, 0)).toThrow(RangeError)
})

it('what is taken from the end and what is taken from the beginning are different instances, as long as there are enough', () => {
  const sizes = fc.oneof(fc.integer({ min: 2, max: 300 }), fc.constant(Number.POSITIVE_INFINITY))
  fc.assert(
    fc.property(sizes, fc.integer({ min: 1, max: 150 }), (size, wanted) => {
      const half = Math.min(wanted, Math.floor(size / 2))
      const taken = (place: (position: number) => number) =>
        Array.from({ length: half }, (_, position) => instanceOrder(size, place(position)))
      const [front, back] = [
        taken((position) => position),
        taken((position) => positionFromEnd(size, position)),
      ]
      expect(new Set([...front, ...back]).size).toBe(2 * half)
    }),
  )
})
