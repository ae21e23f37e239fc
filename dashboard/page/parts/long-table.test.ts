import fc from 'fast-check'
import { expect, test } from 'vitest'
import { drawnRows, stretchesOf, stretchRows } from './long-table.tsx'

// [STRETCHES-1]
test('every row that is seen is drawn and is in a stretch, and few others are', () => {
  const views = fc.record({
    top: fc.integer({ min: 0, max: 3_400_000 }),
    height: fc.integer({ min: 100, max: 2000 }),
    rowHeight: fc.integer({ min: 20, max: 60 }),
  })
  fc.assert(
    fc.property(views, fc.integer({ min: 0, max: 100_000 }), (view, total) => {
      const drawn = drawnRows(view, total)
      const stretches = stretchesOf(drawn)
      const [firstSeen, endSeen] = [view.top / view.rowHeight, (view.top + view.height) / view.rowHeight]
      for (const row of [Math.floor(firstSeen), Math.ceil(endSeen) - 1].filter((each) => each < total)) {
        expect(row >= drawn.first && row < drawn.end).toBe(true)
        expect(stretches).toContain(Math.floor(row / stretchRows))
      }
      expect(drawn.end - drawn.first).toBeLessThanOrEqual((2 * view.height) / view.rowHeight + 4)
      expect(stretches.length).toBeLessThanOrEqual((drawn.end - drawn.first) / stretchRows + 2)
    }),
  )
})

test('an empty table needs nothing', () => {
  expect(stretchesOf(drawnRows({ top: 0, height: 500, rowHeight: 34 }, 0))).toEqual([])
})
