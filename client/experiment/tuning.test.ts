import { describe, expect, it } from 'vitest'
import { experimentName } from '../../identity/identity.ts'
import { tinyExperiment } from '../../test/support/tiny-experiment.ts'
import { reportOn } from './experiment-report.ts'
import { runsOf } from './experiments.ts'
import { type MeasuredRun, notBegun } from './measured-runs.ts'
import { choicesOf } from './tuning.ts'

const tiny = tinyExperiment('tiny', { tune: { seeds: [8, 9] } })
const statement = {
  ...tiny,
  arms: [
    ...tiny.arms,
    ...tiny.arms.map((arm, at) => ({ ...arm, arm: `two-${at + 1}`, pointOf: 'two' })),
    ...tiny.arms.slice(1).map((arm) => ({ ...arm, arm: 'two-3', pointOf: 'two' })),
  ],
}

/** Runs of the points with these values, by point and seed. */
function measured(values: readonly (readonly number[])[], measure = 'success'): readonly MeasuredRun[] {
  return notBegun({ ...statement, measure }).map((run): MeasuredRun => {
    const value = values[Number(/^two-(\d)$/.exec(run.arm)?.[1]) - 1]?.[run.seed - 8]
    if (value === undefined) return run
    const shares = () => Promise.resolve(new Map([['echo e0', value]]))
    const figure = { suite: 'few', version: 1, value, success: 0.5, n: 3, planned: 3, shares }
    return { ...run, status: 'done', figures: [figure] }
  })
}

describe('the choice of a point', () => {
  // [TUNING-1]
  it('is that of the best mean over the tuning seeds, and the first of equal ones', () => {
    // Means of 0.5, 0.625 and 0.625.
    const values = [
      [0.75, 0.25],
      [0.75, 0.5],
      [0.5, 0.75],
    ]
    expect(choicesOf(statement, measured(values))).toEqual({ two: 'two-2' })
    // Fewer turns are better.
    expect(choicesOf({ ...statement, measure: 'turns' }, measured(values))).toEqual({ two: 'two-1' })
  })

  // [TUNING-2]
  it('is open while a point lacks a run, or a whole evaluation', () => {
    expect(choicesOf(statement, measured([[1, 1], [1, 1], [1]]))).toEqual({})
    const [first, ...others] = measured([
      [1, 1],
      [1, 1],
      [1, 1],
    ])
    const lost = first && { ...first, figures: first.figures.map((figure) => ({ ...figure, n: 2 })) }
    expect(choicesOf(statement, lost === undefined ? [] : [lost, ...others])).toEqual({})
  })
})

it('points run with the tuning seeds, before arms, and a tuned arm has the configuration of its choice', () => {
  const runs = runsOf(statement, { two: 'two-1' })
  expect(runs.map(({ run, point }) => [run, point])).toEqual([
    ...[8, 9].flatMap((seed) => [1, 2, 3].map((at) => [`tiny.two-${at}.${seed}`, undefined])),
    ...[1, 2].flatMap((seed) => [
      [`tiny.one.${seed}`, undefined],
      [`tiny.two.${seed}`, 'two-1'],
    ]),
  ])
})

it('a report asks for the tuning seeds alone until the arm is chosen, and has the figures of all points', async () => {
  const reported = (values: readonly (readonly number[])[]) =>
    reportOn(measured(values), { name: experimentName('tiny'), statement, created: 0 })
  expect((await reported([[1, 1]])).due).toEqual([8, 9])
  const { due, arms, curves } = await reported([
    [0.25, 0.5],
    [0.75, 0.75],
    [0, 0],
  ])
  expect(due).toEqual([8, 9, 1, 2])
  expect(arms.map(({ arm, chosen }) => [arm, chosen]).slice(0, 2)).toEqual([
    ['one', undefined],
    ['two', 'two-2'],
  ])
  expect(arms.slice(2).map(({ pointOf, suites }) => [pointOf, suites[0]?.seeds])).toEqual([
    ['two', [0.25, 0.5]],
    ['two', [0.75, 0.75]],
    ['two', [0, 0]],
  ])
  expect(curves).toEqual([])
})
