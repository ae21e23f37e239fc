import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hasFallen, type Trials } from './gate.ts'

const trials = fc
  .integer({ min: 1, max: 500 })
  .chain((n) => fc.record({ n: fc.constant(n), successes: fc.nat(n) }))

describe('hasFallen', () => {
  // 80 of 100 before, 50 of 100 after, one-sided 95 %: z = 1.6449, z² = 2.7055.
  // Wilson of 80/100: centre (0.8 + 0.013528)/1.027055 = 0.79210,
  //   spread 1.6449·√(0.8·0.2/100 + 2.7055/40000)/1.027055 = 0.06540: low 0.72670.
  // Wilson of 50/100: centre 0.5, spread 1.6449·√(0.0025 + 0.0000676)/1.027055 = 0.08115: high 0.58115.
  // Newcombe: 0.3 − √((0.8 − 0.72670)² + (0.58115 − 0.5)²) = 0.3 − 0.10936 = 0.19064.
  const before = { successes: 80, n: 100 }
  const after = { successes: 50, n: 100 }

  it('closes where the drop is certain enough, and not where it is not', () => {
    expect(hasFallen(before, after, { drop: 0.19, confidence: 0.95 })).toBe(true)
    expect(hasFallen(before, after, { drop: 0.192, confidence: 0.95 })).toBe(false)
  })

  it('does not close on few episodes', () => {
    // 8 of 10 against 5 of 10 is the same drop, but its lower bound is below 0.
    expect(hasFallen({ successes: 8, n: 10 }, { successes: 5, n: 10 }, { drop: 0, confidence: 0.95 })).toBe(
      false,
    )
  })

  it('never closes on a policy that did as well or better', () => {
    fc.assert(
      fc.property(trials, trials, (a: Trials, b: Trials) => {
        const [worse, better] = a.successes / a.n <= b.successes / b.n ? [a, b] : [b, a]
        expect(hasFallen(worse, better, { drop: 0, confidence: 0.6 })).toBe(false)
      }),
      { numRuns: 60 },
    )
  })

  it('more confidence or a larger drop asked for never closes it earlier', () => {
    fc.assert(
      fc.property(trials, trials, (a: Trials, b: Trials) => {
        const loose = hasFallen(a, b, { drop: 0.05, confidence: 0.8 })
        if (!loose) {
          expect(hasFallen(a, b, { drop: 0.05, confidence: 0.95 })).toBe(false)
          expect(hasFallen(a, b, { drop: 0.2, confidence: 0.8 })).toBe(false)
        }
      }),
      { numRuns: 60 },
    )
  })
})
