import { expect, it } from 'vitest'
import { experimentName } from '../../identity/identity.ts'
import { tinyExperiment } from '../../test/support/tiny-experiment.ts'
import { reportOn } from './experiment-report.ts'
import { type MeasuredRun, notBegun } from './measured-runs.ts'

it('claims are about the measure: of turns, fewer are better', async () => {
  const statement = { ...tinyExperiment(experimentName('tiny')), measure: 'turns' } as const
  const [suite = ''] = statement.suites
  const [claim] = statement.hypotheses
  const runs = notBegun(statement).map((run): MeasuredRun => {
    const value = run.arm === claim?.better.arm ? 3 : 5
    const shares = () => Promise.resolve(new Map([['echo e0', value]]))
    const figure = { suite, version: 2, value, success: 1, n: 40, planned: 40, shares }
    return { ...run, status: 'done', figures: [figure] }
  })
  const report = await reportOn(runs, { name: experimentName('tiny'), statement, created: 0 })
  const arm = report.arms.find((each) => each.arm === claim?.better.arm)
  expect(arm?.suites).toMatchObject([{ value: { mean: 3, low: 3, high: 3 } }])
  expect(report.hypotheses[0]).toMatchObject({ difference: 2, bootstrap: { low: 2, high: 2 } })
})

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
