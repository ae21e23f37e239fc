import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type ExperimentStatement, loadExperiment } from '../../config/files/experiment.ts'
import { packageRoot } from '../../machine/files/folder.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { planExperiment } from './experiment-plan.ts'

const home = homeAt(join(packageRoot, 'no-such-home'))
const pilot = { report: join(packageRoot, 'research/reports/household.json') }
const { statement } = loadExperiment(join(packageRoot, 'examples/experiments/household.yaml'))
/** `rl-beats-self-imitation`: on two suites, of 300 games each. */
const [, , claim] = statement.hypotheses
if (claim === undefined) throw new RangeError('the example has three claims')

function stated(change: Partial<ExperimentStatement>): ExperimentStatement {
  return { ...statement, hypotheses: [claim as NonNullable<typeof claim>], ...change }
}

describe('the plan of an experiment', () => {
  it('has the spread of its pilot, and costs as many runs as that', async () => {
    const { claims, arms, ...plan } = await planExperiment(home, { statement: stated({}), pilot }, 0.06)
    expect(plan).toEqual({
      experiment: 'household',
      pilot: 'household.json',
      seeds: [1, 2, 3, 4, 5],
    })
    const [planned] = claims
    // The pilot measured differences of 4.2, 7.0, 5.2, −2.3 and 4.0 points: a deviation of 3.5, of which 1.8 are of the episodes.
    expect(planned).toMatchObject({ difference: 0.06, pilotSeeds: 5, by: 0 })
    expect(planned?.spread.seeds).toBeCloseTo(0.03, 2)
    expect(planned?.sizes.map(({ instances }) => instances)).toEqual([
      [300, 300],
      [150, 150],
      [600, 600],
      [1200, 1200],
    ])
    const [usual, half] = planned?.sizes ?? []
    expect(half?.seeds).toBeGreaterThan(usual?.seeds ?? Number.POSITIVE_INFINITY)
    expect(planned?.cautiousSeeds).toBeGreaterThan(usual?.seeds ?? Number.POSITIVE_INFINITY)
    // A mean of 302 seconds and of 5001 episodes over the pilot's fifteen runs.
    const runs = arms * (usual?.seeds ?? 0)
    expect(usual?.cost?.seconds).toBeCloseTo(301.77 * runs, -1)
    expect(usual?.cost?.episodes).toBeCloseTo(5000.57 * runs, -1)
  })

  // [PLAN-1]
  it('needs more seeds for a claim of a family, at a lower level, and beyond a stated difference', async () => {
    const seedsFor = async (change: Partial<ExperimentStatement>) => {
      const { claims } = await planExperiment(home, { statement: stated(change), pilot }, 0.06)
      return claims[0]?.sizes[0]?.seeds ?? Number.POSITIVE_INFINITY
    }
    const alone = await seedsFor({})
    expect(await seedsFor({ design: { looks: [3, 5, 8], spending: 'pocock' } })).toBeGreaterThan(alone)
    expect(await seedsFor({ level: 0.005 })).toBeGreaterThan(alone)
    expect(
      await seedsFor({ hypotheses: [claim, { ...claim, name: 'other' }, { ...claim, name: 'third' }] }),
    ).toBeGreaterThan(alone)
    expect(await seedsFor({ hypotheses: [{ ...claim, by: 0.02 }] })).toBeGreaterThan(alone)
    // The signs of six seeds have a p of 0.03 at the least: those of five show nothing.
    expect(await seedsFor({ test: 'sign_flip' })).toBeGreaterThanOrEqual(6)
  })

  it('is of arms that are equal where they are said to be level', async () => {
    const { claims } = await planExperiment(home, {
      statement: stated({ hypotheses: [{ ...claim, within: 0.08 }] }),
      pilot,
    })
    expect(claims[0]).toMatchObject({ difference: 0, within: 0.08 })
    expect(claims[0]?.sizes[0]?.seeds).toBeLessThan(64)
  })

  it.each<[string, Partial<ExperimentStatement>, number | undefined, RegExp]>([
    ['no claim', { hypotheses: [] }, 0.06, /states no claim/],
    ['no difference', {}, undefined, /states no difference to be found: give --points/],
    [
      'a difference that the claim excludes',
      { hypotheses: [{ ...claim, by: 0.1 }] },
      0.06,
      /cannot be true where the difference is 0\.06: .*above 0\.1/,
    ],
    [
      'an arm that the pilot has not',
      { hypotheses: [{ ...claim, better: { arm: 'other', version: 'last' } }] },
      0.06,
      /the pilot has 0 seeds of which both runs/,
    ],
  ])('is refused: %s', async (_, change, points, words) => {
    await expect(planExperiment(home, { statement: stated(change), pilot }, points)).rejects.toThrow(words)
  })

  it('is refused without a pilot', async () => {
    await expect(
      planExperiment(home, { statement, pilot: { name: 'household' } }, 0.2),
    ).rejects.toMatchObject({ kind: 'bad_pilot' })
  })
})
