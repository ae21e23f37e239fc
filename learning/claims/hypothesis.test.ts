import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type CrossedDifferences, crossedInterval, seedDifferences } from './crossed-bootstrap.ts'
import { judgeFamily, pairedTest } from './hypothesis.ts'

const level = 0.05

/** One suite: of each seed the differences on instances 0, 1, 2, … */
function suiteOf(...seeds: readonly (readonly number[])[]): CrossedDifferences {
  return [seeds.map((row) => new Map(row.map((difference, at) => [`i${at}`, difference])))]
}

/** So many instances won more, the others alike. */
const gained = (more: number, of: number) => Array.from({ length: of }, (_, at) => (at < more ? 1 : 0))

const outcome: fc.Arbitrary<number> = fc.constantFrom(-1, 0, 1)
const table = fc
  .tuple(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 12 }))
  .chain(([seeds, instances]) =>
    fc.array(fc.array(outcome, { minLength: instances, maxLength: instances }), {
      minLength: seeds,
      maxLength: seeds,
    }),
  )

describe('paired differences', () => {
  it('are means over instances, and suites count alike', () => {
    const [many = []] = suiteOf(gained(30, 100), gained(10, 100))
    const [few = []] = suiteOf([1, 1], [0, 1])
    // (0.3 + 1)/2 and (0.1 + 0.5)/2
    expect(seedDifferences([many, few])).toEqual([0.65, 0.3])
  })

  it('of a seed that has no instance in common are refused', () => {
    expect(() => seedDifferences(suiteOf([1], []))).toThrow(RangeError)
  })

  // [CROSSED-1]
  it('lie in their interval, which turns round with them', () => {
    fc.assert(
      fc.property(table, fc.nat(2 ** 31), (rows, seed) => {
        const found = crossedInterval(suiteOf(...rows), seed)
        const turned = crossedInterval(suiteOf(...rows.map((row) => row.map((each) => -each))), seed)
        const mean = rows.flat().reduce((sum, each) => sum + each, 0) / rows.flat().length
        expect(found.low).toBeLessThanOrEqual(mean + 1e-12)
        expect(found.high).toBeGreaterThanOrEqual(mean - 1e-12)
        expect(turned.low).toBeCloseTo(-found.high, 9)
        expect(turned.high).toBeCloseTo(-found.low, 9)
      }),
      { numRuns: 30 },
    )
  })

  it('that one instance makes are as uncertain as that instance, however many seeds play it', () => {
    const same = suiteOf(...Array.from({ length: 20 }, () => gained(1, 10)))
    // 0.9¹⁰ = 35 % of the draws lack the instance, and each seed has it.
    expect(crossedInterval(same, 1).low).toBe(0)
    const seeds = suiteOf(
      ...Array.from({ length: 20 }, (_, seed) => (seed < 10 ? gained(10, 10) : gained(0, 10))),
    )
    // A spread of seeds alone: 0.5 ± 1.96·√(0.25/20) ≈ 0.28 to 0.72.
    const { low, high } = crossedInterval(seeds, 1)
    expect(low).toBeCloseTo(0.28, 1)
    expect(high).toBeCloseTo(0.72, 1)
  })

  it('that all agree are as uncertain as what none of so many instances showed', () => {
    const none = crossedInterval(suiteOf(gained(0, 30), gained(0, 30), gained(0, 30)), 1)
    // z²/(n + z²) with z = 1.96 and n = 30
    expect(none.high).toBeCloseTo(3.8415 / 33.8415, 4)
    expect(none.low).toBeCloseTo(-none.high, 12)
    expect(crossedInterval(suiteOf(gained(30, 30)), 1)).toMatchObject({ high: 1 })
  })
})

describe('a hypothesis', () => {
  const clear = suiteOf(gained(40, 100), gained(45, 100), gained(35, 100))

  it('is shown where seeds and instances agree', () => {
    const test = pairedTest(clear, { by: 0, seed: 1 })
    expect(test.difference).toBeCloseTo(0.4, 12)
    // s = 0.05, so t = 0.4·√3/0.05 = 13.86 with 2 degrees of freedom: p = 0.0052 by SciPy.
    expect(test.t?.p).toBeCloseTo(0.005168, 6)
    expect(judgeFamily([[test]], { claims: [{ by: 0 }], kind: 't', level })).toMatchObject([
      { verdict: 'shown' },
    ])
  })

  it('of a larger difference than there is is contradicted', () => {
    const test = pairedTest(clear, { by: 0.8, seed: 1 })
    expect(judgeFamily([[test]], { claims: [{ by: 0.8 }], kind: 't', level })).toMatchObject([
      { verdict: 'contradicted' },
    ])
  })

  // [HYPOTHESIS-2]
  it('is not shown by one seed, nor by seeds of which one instance made the difference', () => {
    const alone = pairedTest(suiteOf(gained(90, 100)), { by: 0, seed: 1 })
    const chance = pairedTest(suiteOf(gained(1, 10), gained(1, 10), gained(1, 10)), { by: 0, seed: 1 })
    expect(alone.t).toBeUndefined()
    expect(chance.t?.p).toBe(0)
    for (const test of [alone, chance])
      expect(judgeFamily([[test]], { claims: [{ by: 0 }], kind: 't', level })).toMatchObject([
        { verdict: 'not shown' },
      ])
  })

  it('is not shown by the signs of three seeds, whose smallest p is one quarter', () => {
    const test = pairedTest(clear, { by: 0, seed: 1 })
    expect(test.signFlip).toEqual({ p: 0.25, smallest: 0.25, exact: true })
    expect(judgeFamily([[test]], { claims: [{ by: 0 }], kind: 'sign_flip', level })).toMatchObject([
      { p: 0.25, verdict: 'not shown' },
    ])
  })

  // [HYPOTHESIS-3]
  it('that has no figure counts in the family all the same', () => {
    const test = pairedTest(clear, { by: 0, seed: 1 })
    const family = Array.from({ length: 11 }, (_, at) => (at === 0 ? test : undefined))
    const judged = judgeFamily([family], { claims: family.map(() => ({ by: 0 })), kind: 't', level })
    // 11 · 0.0052 = 0.057
    expect(judged[0]).toMatchObject({ verdict: 'not shown' })
    expect(judged[0]?.adjusted).toBeCloseTo(11 * (test.t?.p ?? 0), 12)
    expect(judged[1]).toEqual({ p: 1, adjusted: 1, verdict: 'not shown' })
  })

  // [HYPOTHESIS-1]
  it('turns round when the arms are exchanged', () => {
    fc.assert(
      fc.property(table, (rows) => {
        const found = pairedTest(suiteOf(...rows), { by: 0, seed: 3 })
        const turned = pairedTest(suiteOf(...rows.map((row) => row.map((each) => -each))), { by: 0, seed: 3 })
        expect(turned.difference).toBeCloseTo(-found.difference, 12)
        expect(turned.signFlip.p).toBe(found.signFlip.p)
        expect(turned.t?.p).toEqual(found.t?.p)
        expect(turned.t?.low ?? 0).toBeCloseTo(-(found.t?.high ?? 0), 9)
      }),
      { numRuns: 30 },
    )
  })
})

describe('a claim that two arms are level', () => {
  /** Five seeds on 2000 instances, each with so many more won. */
  const verdictOf = (within: number, ...won: readonly number[]) => {
    const differences = suiteOf(...won.map((more) => gained(more, 2000)))
    const [judged] = judgeFamily([[pairedTest(differences, { by: 0, within, seed: 1 })]], {
      claims: [{ by: 0, within }],
      kind: 't',
      level,
    })
    return judged
  }

  // [HYPOTHESIS-2]
  it('is shown where both intervals lie within the range, contradicted where they lie beyond, and else neither', () => {
    // Differences of 0, 0.2, 0.4, 0.6 and 0.8 points: 0.4 ± 0.39, and 0.4 ± 0.33 by the bootstrap.
    expect(verdictOf(0.02, 0, 4, 8, 12, 16)?.verdict).toBe('level')
    expect(verdictOf(0.006, 0, 4, 8, 12, 16)?.verdict).toBe('not shown')
    // 20 ± 0.4 points
    expect(verdictOf(0.02, 392, 396, 400, 404, 408)?.verdict).toBe('contradicted')
  })

  it('has the larger p of two one-sided tests, doubled as those of other claims are', () => {
    // s = 0.316 points, so t = (0.4 − 2)·√5/0.316 = −11.31 with 4 degrees of freedom; the other end is farther: p = 0.000347.
    expect(verdictOf(0.02, 0, 4, 8, 12, 16)?.p).toBeCloseTo(0.000347, 5)
  })
})

it('differences of a measure that is no share may be larger than 1', () => {
  const large = suiteOf([3, 5], [4, 6])
  const test = pairedTest(large, { by: 2, seed: 1, isShare: false })
  expect(test.difference).toBe(4.5)
  expect(test.bootstrap.low).toBeGreaterThan(1)
  expect(test.t?.high).toBeGreaterThan(4.5)
})
