import { describe, expect, it } from 'vitest'
import type { Hypothesis } from '../../config/files/experiment.ts'
import { experimentName } from '../../identity/identity.ts'
import type { Budget } from '../../learning/run/budget.ts'
import { tinyExperiment } from '../../test/support/tiny-experiment.ts'
import { reportOn } from './experiment-report.ts'
import { type MeasuredRun, notBegun } from './measured-runs.ts'

it.each([{ measure: 'turns' }, { measure: 'moves', metric: { better: 'lower', unit: 'moves' } }] as const)(
  'claims are about the measure: of $measure, fewer are better',
  async ({ measure, ...read }) => {
    const statement = { ...tinyExperiment(experimentName('tiny')), measure }
    const [suite = ''] = statement.suites
    const [claim] = statement.hypotheses
    const runs = notBegun(statement).map((run): MeasuredRun => {
      const value = run.arm === claim?.better.arm ? 3 : 5
      const shares = () => Promise.resolve(new Map([['echo e0', value]]))
      const figure = { suite, version: 2, value, success: 1, n: 40, planned: 40, shares, ...read }
      return { ...run, status: 'done', figures: [figure] }
    })
    const report = await reportOn(runs, { name: experimentName('tiny'), statement, created: 0 })
    const arm = report.arms.find((each) => each.arm === claim?.better.arm)
    expect(arm?.suites).toMatchObject([{ value: { mean: 3, low: 3, high: 3 } }])
    expect(report.hypotheses[0]).toMatchObject({ difference: 2, bootstrap: { low: 2, high: 2 } })
    expect(report).toMatchObject({ measure, ...read })
  },
)

// [REPORT-4]
it('an incomplete evaluation is reported, and is part of no mean, curve or claim', async () => {
  const statement = tinyExperiment(experimentName('tiny'))
  const [suite = ''] = statement.suites
  const runs = notBegun(statement).map((run, at): MeasuredRun => {
    // The last run won 5 of 5 that the infrastructure left of 40; the others won 10 of 40.
    const counts =
      at === 3
        ? { value: 1, success: 1, n: 5, planned: 40 }
        : { value: 0.25, success: 0.25, n: 40, planned: 40 }
    const shares = () => Promise.resolve(new Map([['echo e0', counts.success]]))
    return { ...run, status: 'done', figures: [{ suite, version: 2, ...counts, shares }] }
  })
  const lossy = runs[3]
  const report = await reportOn(runs, { name: experimentName('tiny'), statement, created: 0 })

  expect(report.runs.map(({ incomplete }) => incomplete)).toEqual([
    undefined,
    undefined,
    undefined,
    [{ suite, version: 2, value: 1, success: 1, n: 5, planned: 40 }],
  ])
  const arm = report.arms.find((each) => each.arm === lossy?.arm)
  expect(arm?.suites).toMatchObject([{ value: { mean: 0.25, seeds: 1 } }])
  const curve = report.curves.find((each) => each.arm === lossy?.arm)
  expect(curve?.points).toMatchObject([{ version: 2, mean: 0.25, seeds: 1 }])
  for (const { missing } of report.hypotheses) expect(missing).toEqual([lossy?.seed])
})

describe('an experiment with looks', () => {
  const design = { looks: [3, 5], spending: 'obrien-fleming' } as const
  const statement = tinyExperiment(experimentName('tiny'), { seeds: [1, 2, 3, 4, 5], design })
  const [suite = ''] = statement.suites
  const [claim] = statement.hypotheses
  const known = { name: experimentName('tiny'), statement, created: 0 }

  /** By seed, the tenths of 400 instances that the better arm wins more; the runs of the others are not done. */
  function runsWith(...tenths: readonly number[]): readonly MeasuredRun[] {
    return notBegun(statement).map((run): MeasuredRun => {
      const won = run.arm === claim?.better.arm ? (tenths[run.seed - 1] ?? 0) : 0
      const shares = () =>
        Promise.resolve(
          new Map(Array.from({ length: 400 }, (_, at) => [`echo e${at}`, at % 10 < won ? 1 : 0])),
        )
      const figure = { suite, version: 2, value: won / 10, success: won / 10, n: 400, planned: 400, shares }
      return run.seed > tenths.length ? run : { ...run, status: 'done', figures: [figure] }
    })
  }

  // [REPORT-3]
  it('asks for the seeds of the first look, and then for more while a claim is not decided', async () => {
    expect((await reportOn(notBegun(statement), known)).due).toEqual([1, 2, 3])
    expect((await reportOn(runsWith(5, 5), known)).due).toEqual([1, 2, 3])
    const open = await reportOn(runsWith(3, 5, 7), known)
    expect(open.due).toEqual([1, 2, 3, 4, 5])
    expect(open.hypotheses[0]).toMatchObject({ look: 5, missing: [4, 5], verdict: 'not shown' })
  })

  it('decides a claim at the first look that shows it, and later seeds change nothing', async () => {
    const early = runsWith(5, 5, 5)
    const decided = (await reportOn(early, known)).hypotheses
    expect(decided[0]).toMatchObject({ look: 3, missing: [], verdict: 'shown', difference: 0.5 })
    const more = await reportOn(runsWith(5, 5, 5, 0, 0), known)
    expect(more.hypotheses).toEqual(decided)
    expect(more.due).toEqual([1, 2, 3])
  })

  it('judges by a p over all looks, which is no smaller than that of the last alone', async () => {
    const [last] = (await reportOn(runsWith(1, 2, 3, 4, 5), known)).hypotheses
    expect(last).toMatchObject({ look: 5, missing: [], verdict: 'shown', difference: 0.3 })
    expect(last?.adjusted).toBeGreaterThanOrEqual(last?.t?.p ?? 1)
    expect(last?.adjusted).toBeLessThan(0.02)
  })
})

describe('a claim at a budget', () => {
  const base = tinyExperiment(experimentName('tiny'))
  const [suite = ''] = base.suites
  const [claim] = base.hypotheses
  if (claim === undefined) throw new RangeError('the experiment has a claim')

  /** The better arm needs 100 episodes for a version, the other 50; each version wins a tenth more. */
  const runs = notBegun(base).map((run): MeasuredRun => {
    const episodes = run.arm === claim.better.arm ? 100 : 50
    const figures = [0, 1, 2, 3, 4].map((version) => {
      const shares = () => Promise.resolve(new Map([['echo e0', version / 10]]))
      const value = version / 10
      const amounts = { updates: version, episodes: version * episodes, tokens: 0 }
      const spent = { ...amounts, seconds: 10 * version, cpuSeconds: (version * episodes) / 10 }
      return { suite, version, value, success: value, n: 10, planned: 10, spent, shares }
    })
    return { ...run, status: 'done', figures }
  })
  const differenceAt = async (at: Budget | undefined, change: Partial<Hypothesis> = {}) => {
    const hypotheses = [{ ...claim, ...(at === undefined ? {} : { at }), ...change }]
    const statement = { ...base, hypotheses }
    const [judged] = (await reportOn(runs, { name: experimentName('tiny'), statement, created: 0 }))
      .hypotheses
    return judged?.difference
  }

  // [BUDGET-1]
  it('compares the last evaluations that each run had reached within it', async () => {
    expect(await differenceAt(undefined)).toBeCloseTo(0, 12)
    expect(await differenceAt({ updates: 2 })).toBeCloseTo(0, 12)
    // 199 episodes: one version of the better arm, three of the other.
    expect(await differenceAt({ episodes: 199 })).toBeCloseTo(0.1 - 0.3, 12)
    expect(await differenceAt({ episodes: 200 })).toBeCloseTo(0.2 - 0.4, 12)
    expect(await differenceAt({ episodes: 1000, seconds: 10 })).toBeCloseTo(0, 12)
    expect(await differenceAt({ cpuSeconds: 20 })).toBeCloseTo(0.2 - 0.4, 12)
    const first = { than: { arm: claim.better.arm, version: 'first' } } as const
    expect(await differenceAt({ episodes: 200 }, first)).toBeCloseTo(0.2, 12)
  })

  it('is open where runs do not say what they had spent', async () => {
    const silent = runs.map((run) => ({
      ...run,
      figures: run.figures.map(({ spent: _, ...figure }) => figure),
    }))
    const statement = { ...base, hypotheses: [{ ...claim, at: { episodes: 200 } }] }
    const [judged] = (await reportOn(silent, { name: experimentName('tiny'), statement, created: 0 }))
      .hypotheses
    expect(judged?.missing).toEqual([1, 2])
  })
})

it('a claim over several tasks has the probability that a run is better, and one over a single task has not', async () => {
  const names = ['few', 'others']
  const suites = names.map((name, at) => ({ name, task: at === 0 ? 'echo' : 'echo2', episodes: 3 }))
  const several = (own: typeof suites) => {
    const { arms, hypotheses, ...stated } = tinyExperiment(experimentName('tiny'), { suites: names })
    return {
      ...stated,
      arms: arms.map((arm) => ({
        ...arm,
        config: { ...arm.config, evaluation: { ...arm.config.evaluation, suites: own as never } },
      })),
      hypotheses: hypotheses.map((claim) => ({ ...claim, on: names })),
    }
  }
  const reported = async (own: typeof suites) => {
    const statement = several(own)
    const runs = notBegun(statement).map((run): MeasuredRun => {
      const isBetter = run.arm === statement.hypotheses[0]?.better.arm
      const figures = names.map((suite, at) => {
        // On the first task better in both seeds, on the other one equal.
        const value = at === 0 && isBetter ? 0.5 : 0.25
        const shares = () =>
          Promise.resolve(
            new Map([
              ['echo e0', value],
              ['echo e1', value],
            ]),
          )
        return { suite, version: 2, value, success: value, n: 40, planned: 40, shares }
      })
      return { ...run, status: 'done', figures }
    })
    return (await reportOn(runs, { name: experimentName('tiny'), statement, created: 0 })).hypotheses[0]
  }
  expect((await reported(suites))?.improvement).toEqual({ value: 0.75, low: 0.75, high: 0.75 })
  expect((await reported(suites.map((suite) => ({ ...suite, task: 'echo' }))))?.improvement).toBeUndefined()
})
