/** Plans of experiments, held against experiments that are drawn as planned and judged as real ones are. */
import { describe, expect, it } from 'vitest'
import { seedOf, uniforms } from '../../identity/identity.ts'
import { crossedInterval, seedDifferences } from './crossed-bootstrap.ts'
import { asDifferences, drawnTables, oneSuite, type Tables } from './drawn-tables.testing.ts'
import { verdictAlone } from './hypothesis.ts'
import { type PlannedClaim, powerOf, type Spread, seedsNeeded, spreadOf } from './power.ts'
import { lookLevels, looksOf } from './sequential.ts'

/** The standard error of a share of 80 % of so many is 1.3 points. */
const experiments = 1000

/** The share of experiments whose verdict is that the claim is shown, or the arms level. */
function shareFound(
  name: string,
  { seeds, ...claim }: PlannedClaim & { readonly seeds: number },
  draw: (uniform: () => number) => Tables,
): number {
  const design = claim.design === undefined ? undefined : looksOf(claim.design, seeds)
  const levels =
    design === undefined ? [claim.level / claim.claims] : lookLevels(design, claim.level / claim.claims)
  let found = 0
  for (let each = 0; each < experiments; each++) {
    const seed = seedOf(each, 'simulated', name)
    const tables = draw(uniforms(seed))
    const looks = (design?.looks ?? [seeds]).map((count) => {
      const differences = asDifferences(tables.map((suite) => suite.slice(0, count)))
      return { seeds: seedDifferences(differences), bootstrapOf: () => crossedInterval(differences, seed) }
    })
    const verdict = verdictAlone(looks, { ...claim, levels, seed })
    if (verdict === 'shown' || verdict === 'level') found++
  }
  return found / experiments
}

function planned(spread: Spread, stated: Omit<PlannedClaim, 'kind' | 'level' | 'spread'>): PlannedClaim {
  return { ...stated, spread, kind: 't', level: 0.05 }
}

const twoSuites: Spread = {
  seeds: 0.06,
  suites: [
    { instances: 0.1, rest: 0.3 },
    { instances: 0, rest: 0.5 },
  ],
}

const looks = { looks: [3, 5, 8], spending: 'pocock' } as const

const plans: readonly (readonly [string, PlannedClaim])[] = [
  [
    'seeds that differ',
    planned(oneSuite(0.08, 0.05, 0.2), { by: 0, difference: 0.08, instances: [16], claims: 1 }),
  ],
  [
    'instances that differ',
    planned(oneSuite(0.02, 0.15, 0.3), { by: 0.02, difference: 0.145, instances: [16], claims: 1 }),
  ],
  [
    'two suites, in a family of three',
    planned(twoSuites, { by: 0, difference: 0.12, instances: [12, 8], claims: 3 }),
  ],
  [
    'seeds that come in looks',
    {
      ...planned(oneSuite(0.08, 0.05, 0.2), { by: 0, difference: 0.08, instances: [16], claims: 1 }),
      design: looks,
    },
  ],
  [
    'arms that are level',
    planned(oneSuite(0.05, 0.08, 0.2), { by: 0, within: 0.09, difference: 0, instances: [16], claims: 1 }),
  ],
]

describe('a plan', () => {
  // [POWER-1] [POWER-2]
  it.each(plans)(
    'of %s: of 100 experiments 80 ± 5 find the difference, and at most 5 one that is not',
    (name, claim) => {
      const { seeds = 0, power = 0 } = seedsNeeded(claim) ?? {}
      expect(powerOf(claim, seeds - 1)).toBeLessThan(0.8)
      const draw = (difference: number) => (uniform: () => number) =>
        drawnTables({ ...claim, difference }, seeds, uniform)
      const found = shareFound(name, { ...claim, seeds }, draw(claim.difference))
      expect(Math.abs(found - 0.8)).toBeLessThan(0.05)
      expect(Math.abs(found - power)).toBeLessThan(0.05)
      // The largest difference of which the claim is not true.
      const wrong = shareFound(name, { ...claim, seeds }, draw(claim.within ?? claim.by))
      expect(wrong).toBeLessThan(0.05)
    },
  )

  // [POWER-1]
  it('of episodes that are won or lost: so it is for such experiments too, though nothing of them is normal', () => {
    // Instance i is won with a chance from 0.2 to 0.8, by the better arm with 0.2 more; a seed moves the chance of either by ±0.1.
    const instances = 20
    const won = (chance: number, uniform: () => number) => (uniform() < chance ? 1 : 0)
    const moved = (uniform: () => number) => (uniform() < 0.5 ? 0.1 : -0.1)
    const draw = (seeds: number, better: number) => (uniform: () => number) => [
      Array.from({ length: seeds }, () => {
        const [one, other] = [better + moved(uniform), moved(uniform)]
        return Array.from({ length: instances }, (_, i) => {
          const chance = 0.2 + (0.6 * i) / instances
          return won(chance + one, uniform) - won(chance + other, uniform)
        })
      }),
    ]
    const spread = spreadOf(asDifferences(draw(2000, 0.2)(uniforms(1))))
    // √(2 · 0.1²)
    expect(spread.seeds).toBeCloseTo(0.141, 1)
    const claim = planned(spread, { by: 0, difference: 0.2, instances: [instances], claims: 1 })
    const { seeds = 0 } = seedsNeeded(claim) ?? {}
    const found = shareFound('episodes', { ...claim, seeds }, draw(seeds, 0.2))
    const wrong = shareFound('episodes', { ...claim, seeds }, draw(seeds, 0))
    expect(Math.abs(found - 0.8)).toBeLessThan(0.05)
    expect(wrong).toBeLessThan(0.05)
  })
})
