import { expect, it } from 'vitest'
import { Affinity } from './affinity.ts'

const place = (open: number) => ({ open })

// [AFFINITY-1]
it('a key stays at its place while that may be used, and moves when it may not', () => {
  const affinity = new Affinity<{ open: number }>()
  const [a, b] = [place(0), place(1)]
  expect(affinity.placeOf('x', [a, b])).toBe(a)
  a.open = 9
  expect(affinity.placeOf('x', [a, b])).toBe(a)
  expect(affinity.placeOf('x', [b])).toBe(b)
  expect(affinity.placeOf('x', [a, b])).toBe(b)
  expect(affinity.forget('x')).toBe(b)
  expect(affinity.forget('x')).toBeUndefined()
})

// [AFFINITY-2]
it('a new key goes to the place with the fewest requests, the first of several', () => {
  const affinity = new Affinity<{ open: number }>()
  const places = [place(2), place(1), place(1)]
  expect(affinity.placeOf('x', places)).toBe(places[1])
})

it('forgets the key used longest ago beyond ten thousand', () => {
  const affinity = new Affinity<{ open: number }>()
  const [a, b] = [place(0), place(0)]
  for (const key of ['old', 'used']) affinity.placeOf(key, [a])
  for (let n = 0; n < 9_998; n++) affinity.placeOf(`${n}`, [a])
  affinity.placeOf('used', [a])
  affinity.placeOf('one more', [a])
  b.open = -1
  expect(affinity.placeOf('used', [a, b])).toBe(a)
  expect(affinity.placeOf('old', [a, b])).toBe(b)
})
