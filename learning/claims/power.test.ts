import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { uniforms } from '../../identity/identity.ts'
import {
  crossedInterval,
  expectedCrossedInterval,
  instanceSpread,
  seedDifferences,
} from './crossed-bootstrap.ts'
import { asDifferences, drawnTables, oneSuite } from './drawn-tables.testing.ts'
import { judgeFamily, pairedTest, verdictAlone } from './hypothesis.ts'
import { likelyExcess, seedsNeeded, spreadOf } from './power.ts'
import { lookLevels } from './sequential.ts'

describe('a plan', () => {
  it('that no number of seeds reaches, because a few instances decide, has none', () => {
    const few = {
      spread: oneSuite(0, 0.3, 0.1),
      by: 0,
      difference: 0.1,
      instances: [10],
      claims: 1,
      kind: 't',
      level: 0.05,
    } as const
    expect(seedsNeeded(few)).toBeUndefined()
    expect(seedsNeeded({ ...few, instances: [400] })?.seeds).toBeLessThan(10)
  })

  it('of a spread that nothing shows is refused', () => {
    expect(() => spreadOf(asDifferences([[[0, 1]]]))).toThrow(/spread of 1 seeds/)
    expect(() => spreadOf(asDifferences([[[0], [1]]]))).toThrow(/1 instances/)
  })
})

describe('a spread', () => {
  it('is what the mean squares leave of each deviation', () => {
    // Seeds ±1, instances ±2, nothing else: variances 2·1² and 2·2² of two values each.
    const { seeds, suites } = spreadOf(
      asDifferences([
        [
          [3, -1],
          [1, -3],
        ],
      ]),
    )
    expect(seeds).toBeCloseTo(Math.SQRT2, 12)
    expect(suites).toEqual([{ instances: expect.closeTo(2 * Math.SQRT2, 12), rest: 0 }])
  })
})

it('a pilot of few seeds knows its deviation roughly: a fifth of such pilots have one less than half the true one', () => {
  // χ² with 2 degrees of freedom has 20 % of its values below −2·ln 0.8 = 0.4463; √(2/0.4463)
  expect(likelyExcess(3)).toBeCloseTo(2.117, 1)
  // With 9, below 5.380 by published tables; √(9/5.380)
  expect(likelyExcess(10)).toBeCloseTo(1.293, 2)
})

describe('the short ways to a verdict', () => {
  const table = fc
    .tuple(fc.integer({ min: 2, max: 6 }), fc.integer({ min: 2, max: 8 }), fc.nat(2 ** 31))
    .map(([seeds, instances, seed]) =>
      drawnTables(
        { spread: oneSuite(0.1, 0.1, 0.3), difference: 0.2, instances: [instances] },
        seeds,
        uniforms(seed),
      ),
    )

  it('lead to that of the family in which nothing else is shown', () => {
    fc.assert(
      fc.property(table, fc.constantFrom('t', 'sign_flip'), fc.boolean(), (tables, kind, isLevel) => {
        const differences = asDifferences(tables)
        const trial = { by: 0, ...(isLevel ? { within: 0.3 } : {}), seed: 1 }
        const test = pairedTest(differences, trial)
        const [judged] = judgeFamily([[test, undefined]], { claims: [trial, trial], kind, level: 0.3 })
        const look = { seeds: test.seeds, bootstrapOf: () => test.bootstrap }
        expect(verdictAlone([look], { ...trial, kind, levels: [0.15] })).toBe(judged?.verdict)
      }),
      { numRuns: 100 },
    )
  })

  it('lead to it at several looks too', () => {
    const design = { looks: [3, 5], spending: 'pocock' } as const
    const spread = oneSuite(0.1, 0.05, 0.2)
    const found = Array.from({ length: 16 }, (_, each) => {
      const tables = drawnTables({ spread, difference: 0.12, instances: [20] }, 5, uniforms(each))
      const tests = design.looks.map((count) =>
        pairedTest(asDifferences(tables.map((suite) => suite.slice(0, count))), { by: 0, seed: 1 }),
      )
      const [judged] = judgeFamily(
        tests.map((test) => [test]),
        { claims: [{ by: 0 }], design, kind: 't', level: 0.05 },
      )
      const looks = tests.map(({ seeds, bootstrap }) => ({ seeds, bootstrapOf: () => bootstrap }))
      const levels = lookLevels(design, 0.05)
      expect(verdictAlone(looks, { by: 0, seed: 1, kind: 't', levels })).toBe(judged?.verdict)
      return judged?.verdict
    })
    expect(new Set(found)).toEqual(new Set(['shown', 'not shown']))
  })

  it('know the interval that the bootstrap draws', () => {
    const tables = drawnTables(
      { spread: oneSuite(0.06, 0.1, 0.3), difference: 0.2, instances: [40] },
      12,
      uniforms(7),
    )
    const drawn = crossedInterval(asDifferences(tables), 1)
    const expected = expectedCrossedInterval(
      seedDifferences(asDifferences(tables)),
      tables.map(instanceSpread),
    )
    // Its ends are quantiles of 1000 draws.
    const error = 0.1 * (expected.high - expected.low)
    expect(Math.abs(drawn.low - expected.low)).toBeLessThan(error)
    expect(Math.abs(drawn.high - expected.high)).toBeLessThan(error)
  })
})
