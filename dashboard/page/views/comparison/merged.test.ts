import fc from 'fast-check'
import { expect, test } from 'vitest'
import { mergedAxis } from './merged.ts'

// [MERGED-1]
test('every value keeps the place that its own axis gave it', () => {
  const axis = fc.uniqueArray(fc.integer({ min: 0, max: 50 })).map((values) => values.sort((a, b) => a - b))
  fc.assert(
    fc.property(fc.array(axis, { maxLength: 4 }), (axes) => {
      const merged = mergedAxis(axes)
      expect(merged.values).toEqual([...new Set(axes.flat())].sort((a, b) => a - b))
      axes.forEach((values, curve) => {
        const spread = merged.spread(
          curve,
          values.map((value) => value * 2),
        )
        const expected = merged.values.map((value) => (values.includes(value) ? value * 2 : null))
        expect(spread).toEqual(expected)
      })
    }),
  )
})
