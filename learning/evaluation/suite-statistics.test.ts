import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { wilsonInterval } from '../statistics/interval.ts'
import { type InstanceSamples, suiteStatistics } from './suite-statistics.ts'

const several = fc.array(
  fc
    .integer({ min: 1, max: 8 })
    .chain((samples) => fc.record({ samples: fc.constant(samples), successes: fc.nat(samples) })),
  { minLength: 1, maxLength: 40 },
)

function each(count: number, instance: InstanceSamples): readonly InstanceSamples[] {
  return Array.from({ length: count }, () => instance)
}

describe('suiteStatistics', () => {
  it('one sample of each instance gives the success rate with its Wilson interval', () => {
    const instances = [...each(3, { samples: 1, successes: 1 }), ...each(7, { samples: 1, successes: 0 })]
    expect(suiteStatistics(instances, 1)).toEqual({
      instances: 10,
      samples: 1,
      success: { value: 0.3, ...wilsonInterval(3, 10) },
      passAt: {},
    })
  })

  it('pass@k is the mean over instances', () => {
    // Four samples each: one instance with one win, one with none. pass@2 of the first is 1/2, of the second 0.
    const { passAt, success } = suiteStatistics(
      [
        { samples: 4, successes: 1 },
        { samples: 4, successes: 0 },
      ],
      1,
    )
    expect(success.value).toBeCloseTo(1 / 8, 12)
    expect(Object.keys(passAt)).toEqual(['1', '2', '4'])
    expect(passAt[1]?.value).toBeCloseTo(1 / 8, 12)
    expect(passAt[2]?.value).toBeCloseTo(1 / 4, 12)
    expect(passAt[4]?.value).toBeCloseTo(1 / 2, 12)
  })

  it('samples of one instance are not taken for independent trials', () => {
    // All samples of an instance agree: 25 instances know as much with sixteen samples each as with one.
    const instances = [
      ...each(12, { samples: 16, successes: 16 }),
      ...each(13, { samples: 16, successes: 0 }),
    ]
    const { low, high } = suiteStatistics(instances, 7).success
    const once = wilsonInterval(12, 25)
    expect(high - low).toBeGreaterThan(0.8 * (once.high - once.low))
  })

  it('the bootstrap comes near the interval that theory gives', () => {
    // 400 instances of two samples with 0, 1 or 2 wins, a quarter, half, a quarter: mean 1/2, variance of an
    // instance's rate 1/8, so the 95 % interval is 0.5 ± 1.96 · √(1/8/400) = 0.5 ± 0.0346.
    const instances = [
      ...each(100, { samples: 2, successes: 0 }),
      ...each(200, { samples: 2, successes: 1 }),
      ...each(100, { samples: 2, successes: 2 }),
    ]
    const { value, low, high } = suiteStatistics(instances, 3).success
    expect(value).toBe(0.5)
    expect(low).toBeGreaterThan(0.5 - 0.0346 - 0.006)
    expect(low).toBeLessThan(0.5 - 0.0346 + 0.006)
    expect(high).toBeGreaterThan(0.5 + 0.0346 - 0.006)
    expect(high).toBeLessThan(0.5 + 0.0346 + 0.006)
  })

  it('where all instances agree the interval is not empty', () => {
    const { success, passAt } = suiteStatistics(each(10, { samples: 4, successes: 0 }), 1)
    expect(success).toEqual({ value: 0, ...wilsonInterval(0, 10) })
    expect(passAt[4]).toEqual({ value: 0, ...wilsonInterval(0, 10) })
  })

  it('an interval lies within [0, 1] and contains what was measured; the same seed gives the same', () => {
    fc.assert(
      fc.property(several, fc.nat(), (instances, seed) => {
        const figures = suiteStatistics(instances, seed)
        for (const { value, low, high } of [figures.success, ...Object.values(figures.passAt)]) {
          expect(low).toBeGreaterThanOrEqual(0)
          expect(low).toBeLessThanOrEqual(value)
          expect(high).toBeGreaterThanOrEqual(value)
          expect(high).toBeLessThanOrEqual(1)
        }
        expect(suiteStatistics(instances, seed)).toEqual(figures)
      }),
      { numRuns: 10 },
    )
  })

  it('a suite without any sample is refused', () => {
    expect(() => suiteStatistics([{ samples: 0, successes: 0 }], 1)).toThrow(RangeError)
  })
})
