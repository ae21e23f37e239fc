import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { meanInterval, meanTest, studentQuantile, studentTail } from './student-t.ts'

/** `scipy.stats.t.ppf` at 0.9, 0.975 and 0.9995, and `scipy.stats.t.sf` at 0.5, 2 and 10 (SciPy 1.17.1), by degrees of freedom. */
const scipy: readonly (readonly [number, readonly number[], readonly number[]])[] = [
  [
    1,
    [3.0776835371752544, 12.706204736174694, 636.6192487687897],
    [0.35241638234956674, 0.14758361765043326, 0.03172551743055357],
  ],
  [
    2,
    [1.8856180831641272, 4.302652729749462, 31.599054576445365],
    [0.33333333333333337, 0.09175170953613698, 0.004926228511662845],
  ],
  [
    4,
    [1.533206274058944, 2.7764451051977934, 8.610301581379522],
    [0.32166498159093165, 0.05805826175840778, 0.0002810018113579955],
  ],
  [
    9,
    [1.3830287383966329, 2.262157162798205, 4.780912585931217],
    [0.31453564991301314, 0.038276411885350504, 1.789118715962368e-6],
  ],
  [
    30,
    [1.3104150253913955, 2.0422724563012378, 3.6459586350420627],
    [0.3103615024425636, 0.027312522481491547, 2.287625704114809e-11],
  ],
  [
    200,
    [1.2857987939948012, 1.9718962236339088, 3.3398354062757107],
    [0.30881237615823043, 0.023426593093535484, 1.1887415722103823e-19],
  ],
]

describe("Student's t", () => {
  it.each(scipy)(
    'with %i degrees of freedom has the quantiles and tails of SciPy',
    (df, quantiles, tails) => {
      for (const [i, p] of [0.9, 0.975, 0.9995].entries())
        expect(studentQuantile(p, df) / (quantiles[i] ?? 0)).toBeCloseTo(1, 9)
      for (const [i, t] of [0.5, 2, 10].entries())
        expect(studentTail(t, df) / (tails[i] ?? 0)).toBeCloseTo(1, 9)
    },
  )

  it('has tails that quantiles lead back to, antisymmetric around one half', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.001, max: 0.999, noNaN: true }),
        fc.integer({ min: 1, max: 300 }),
        (p, df) => {
          const t = studentQuantile(p, df)
          expect(studentTail(t, df)).toBeCloseTo(1 - p, 9)
          expect(studentQuantile(1 - p, df)).toBeCloseTo(-t, 6)
        },
      ),
    )
  })

  it('refuses what is no probability and too few degrees of freedom', () => {
    expect(() => studentQuantile(1, 3)).toThrow(RangeError)
    expect(() => studentTail(1, 0)).toThrow(RangeError)
    expect(() => meanInterval([1])).toThrow(RangeError)
  })
})

describe('the interval of a mean', () => {
  it('is that of SciPy, and so is the p against a value', () => {
    // scipy.stats.ttest_1samp([0.12, 0.08, 0.15, 0.02, 0.11], 0.05)
    const values = [0.12, 0.08, 0.15, 0.02, 0.11]
    const { low, high, mean } = meanInterval(values)
    expect(low).toBeCloseTo(0.034792135740757, 12)
    expect(high).toBeCloseTo(0.157207864259243, 12)
    expect(mean).toBeCloseTo(0.096, 12)
    expect(meanTest(values, 0.05)).toBeCloseTo(0.10523412224147366, 12)
  })

  it('of equal values is that value, which nothing else agrees with', () => {
    expect(meanInterval([0.1, 0.1, 0.1])).toMatchObject({ standardError: 0 })
    expect(meanTest([0.1, 0.1, 0.1], 0.1)).toBe(1)
    expect(meanTest([0.1, 0.1, 0.1], 0)).toBe(0)
  })

  // [STUDENT-1]
  it('is centred on the mean, and wider at a higher level', () => {
    const values = fc.array(fc.double({ min: -1, max: 1, noNaN: true }), { minLength: 2, maxLength: 12 })
    fc.assert(
      fc.property(values, (given) => {
        const { low, high, mean } = meanInterval(given)
        const wide = meanInterval(given, 0.99)
        expect((low + high) / 2).toBeCloseTo(mean, 9)
        expect(wide.high - wide.low).toBeGreaterThanOrEqual(high - low)
      }),
    )
    // s is 1 for both: 4.303/√3 and 2.776/√5 times a deviation of 1.
    const [few, more] = [meanInterval([-1, 0, 1]), meanInterval([-Math.SQRT2, 0, 0, 0, Math.SQRT2])]
    expect(few.high).toBeCloseTo(4.302652729749462 / Math.sqrt(3), 9)
    expect(more.high).toBeCloseTo(2.7764451051977934 / Math.sqrt(5), 9)
  })
})
