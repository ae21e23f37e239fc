import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { learningRateAt } from './learning-rate.ts'

describe('the learning rate of an update', () => {
  test('rises to the peak over the warm-up, then falls in a straight line to its share of the peak', () => {
    const schedule = { peak: 0.4, warmUpUpdates: 4, finalShare: 0.25, updates: 10 }
    const rates = [1, 2, 4, 7, 10].map((update) => learningRateAt(update, schedule))
    const byHand = [0.1, 0.2, 0.4, 0.25, 0.1]
    for (const [index, rate] of rates.entries()) expect(rate).toBeCloseTo(byHand[index] ?? Number.NaN, 12)
  })

  test('stays at the peak without warm-up and with a final share of 1', () => {
    for (const update of [1, 5, 1000])
      expect(learningRateAt(update, { peak: 0.3, warmUpUpdates: 0, finalShare: 1, updates: 10 })).toBe(0.3)
  })

  test('keeps the last rate beyond the planned updates', () => {
    const schedule = { peak: 1, warmUpUpdates: 0, finalShare: 0.1, updates: 5 }
    expect(learningRateAt(50, schedule)).toBe(learningRateAt(5, schedule))
  })

  test('is the peak and not a rounding error more at the end of the warm-up', () => {
    for (let warmUpUpdates = 1; warmUpUpdates <= 50; warmUpUpdates++)
      for (const peak of [0.1, 0.3, 0.7, 1e-4, 3e-4]) {
        const schedule = { peak, warmUpUpdates, finalShare: 1, updates: 100 }
        expect(learningRateAt(warmUpUpdates, schedule)).toBe(peak)
      }
  })

  test('is never above the peak, nor below its final share once the rise is over', () => {
    fc.assert(
      fc.property(
        fc.record({
          peak: fc.double({ min: 1e-6, max: 1, noNaN: true }),
          warmUpUpdates: fc.nat(50),
          finalShare: fc.double({ min: 0, max: 1, noNaN: true }),
          updates: fc.nat(200),
        }),
        fc.integer({ min: 1, max: 500 }),
        (schedule, update) => {
          const rate = learningRateAt(update, schedule)
          expect(rate).toBeGreaterThanOrEqual(0)
          expect(rate).toBeLessThanOrEqual(schedule.peak)
          if (update > schedule.warmUpUpdates)
            expect(rate).toBeGreaterThanOrEqual(schedule.peak * schedule.finalShare - 1e-12)
        },
      ),
    )
  })
})
