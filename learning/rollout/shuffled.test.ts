import fc from 'fast-check'
import { expect, test } from 'vitest'
import { uniforms } from '../../identity/identity.ts'
import { shuffled } from './shuffled.ts'

test('it holds every item as often as it was given', () => {
  const items = fc.array(fc.integer({ min: 0, max: 5 }))
  fc.assert(
    fc.property(items, fc.integer(), (given, seed) => {
      const before = [...given]
      expect(shuffled(given, uniforms(seed)).sort()).toEqual([...given].sort())
      expect(given).toEqual(before)
    }),
  )
})

test('the same uniforms give the same order; it takes one for each item but the last', () => {
  const letters = ['a', 'b', 'c', 'd', 'e']
  expect(shuffled(letters, uniforms(4))).toEqual(shuffled(letters, uniforms(4)))
  let taken = 0
  shuffled(letters, () => {
    taken += 1
    return 0.5
  })
  expect(taken).toBe(4)
  // c and a change places, then b and c, which is at 0: b, c, a.
  expect(shuffled(['a', 'b', 'c'], () => 0)).toEqual(['b', 'c', 'a'])
})

test('each order is as likely as any other', () => {
  const next = uniforms(2)
  const counts = new Map<string, number>()
  for (let time = 0; time < 6_000; time++) {
    const order = shuffled(['a', 'b', 'c'], next).join('')
    counts.set(order, (counts.get(order) ?? 0) + 1)
  }
  // Each of six: 1000, standard deviation √(6000 · 5/36) ≈ 29; five of them either way.
  expect(counts.size).toBe(6)
  for (const count of counts.values()) expect(Math.abs(count - 1_000)).toBeLessThan(145)
})
