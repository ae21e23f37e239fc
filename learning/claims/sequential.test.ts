import { describe, expect, it } from 'vitest'
import { seedOf, uniforms } from '../../identity/identity.ts'
import { meanTest } from '../statistics/student-t.ts'
import { lookBoundaries, lookLevels, sequentialP, spendingNames, spendings } from './sequential.ts'

const experiments = 20_000

describe('boundaries', () => {
  it('are those of published tables', () => {
    // D. Reboussin, D. DeMets, K. Kim and K. Lan, Controlled Clinical Trials 21 (2000): five equal looks, two-sided 0.05.
    const tables = {
      'obrien-fleming': [4.877, 3.357, 2.68, 2.29, 2.031],
      pocock: [2.438, 2.427, 2.41, 2.397, 2.386],
    }
    for (const spending of spendingNames) {
      const found = lookBoundaries({ looks: [2, 4, 6, 8, 10], spending }, 0.05)
      for (const [at, z] of tables[spending].entries()) expect(found[at]).toBeCloseTo(z, 3)
    }
    // The R package ldbounds, for looks at 10, 33 and 100 % of the seeds.
    const uneven = lookBoundaries({ looks: [10, 33, 100], spending: 'obrien-fleming' }, 0.05)
    for (const [at, z] of [6.9913, 3.7308, 1.9605].entries()) expect(uneven[at]).toBeCloseTo(z, 3)
  })

  it('spend what the functions say, and all of the level in the end', () => {
    // 4 − 4Φ(2.2414 / √0.4): z of 3.544 has a tail of 0.000197. 0.05 · ln(1 + 1.71828 · 0.4) = 0.02617
    expect(spendings['obrien-fleming'](0.05, 0.4)).toBeCloseTo(0.000788, 5)
    expect(spendings.pocock(0.05, 0.4)).toBeCloseTo(0.02617, 4)
    for (const name of spendingNames) expect(spendings[name](0.05, 1)).toBeCloseTo(0.05, 9)
  })

  it('of one look are the level itself', () => {
    for (const spending of spendingNames)
      expect(lookBoundaries({ looks: [5], spending }, 0.05)[0]).toBeCloseTo(1.959964, 5)
  })
})

// [SEQUENTIAL-1]
it.each(spendingNames)(
  'no more experiments than the level show at any look what is not there: %s',
  (spending) => {
    const looks = [3, 5, 8]
    const levels = lookLevels({ looks, spending }, 0.05)
    const count = (difference: number) => {
      let [shown, naive] = [0, 0]
      for (let each = 0; each < experiments; each++) {
        const uniform = uniforms(seedOf(each, 'sequential'))
        const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform())
        const seeds = Array.from({ length: 8 }, () => difference + normal())
        const pValues = looks.map((n) => meanTest(seeds.slice(0, n), 0))
        if (pValues.some((p, at) => p <= (levels[at] ?? 0))) shown++
        if (pValues.some((p) => p <= 0.05)) naive++
      }
      return { shown: shown / experiments, naive: naive / experiments }
    }
    const none = count(0)
    // Three standard errors of 5 %: 3·√(0.05·0.95/20000) = 0.0046
    expect(none.shown).toBeLessThan(0.05 + 0.0046)
    // Looking three times at 5 % each would err more than twice as often as one look.
    expect(none.naive).toBeGreaterThan(0.09)
    expect(count(1.5).shown).toBeGreaterThan(0.8)
  },
)

// [SEQUENTIAL-2]
it('a p over looks is at most the level where one of theirs is at most its nominal level', () => {
  for (const spending of spendingNames) {
    const design = { looks: [3, 5, 8], spending }
    const nominal = lookLevels(design, 0.05)
    for (const [look, p] of nominal.entries()) {
      const before = Array.from({ length: look }, () => 1)
      expect(sequentialP([...before, p * 1.01], design)).toBeGreaterThan(0.05)
      expect(sequentialP([...before, p * 0.99], design)).toBeLessThanOrEqual(0.05)
    }
    expect(sequentialP([0.9, 0.95], design)).toBeGreaterThan(0.8)
    expect(sequentialP([0.031], { looks: [5], spending })).toBe(0.031)
  }
})
