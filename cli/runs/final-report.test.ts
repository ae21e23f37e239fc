/** The report at a run's end. */
import { expect, test } from 'vitest'
import type { SuiteComparison } from '../../client/experiment/comparison.ts'
import type { RunProgress } from '../../client/session/training-session.ts'
import { runId } from '../../identity/identity.ts'
import { commandName } from '../../machine/processes/typed-command.ts'
import { finalReport } from './final-report.ts'

const progress: RunProgress = {
  run: 'demo',
  phase: 'done',
  version: 60,
  step: 60,
  updates: 60,
  episodesInFlight: 0,
  groupsInFlight: 0,
  groupsReady: 0,
  staleness: 0,
  episodes: 7680,
  tokens: 2_000_000,
  success: {},
  reward: {},
  samples: {},
  evaluations: [
    { suite: 'held_out', version: 0, success: 0.6, n: 80, planned: 80 },
    { suite: 'held_out', version: 60, success: 0.8, n: 70, planned: 70 },
  ],
  emptyUpdates: 0,
  startedAt: 0,
}
const sides = { run: runId('demo'), planned: 80 }
const course: readonly SuiteComparison[] = [
  {
    suite: 'held_out',
    measure: { of: 'success', words: 'success', better: 'higher', isShare: true },
    before: { ...sides, version: 0, success: 0.6, n: 80 },
    after: { ...sides, version: 60, success: 0.8, n: 70 },
    instances: 70,
    paired: { difference: 0.2, low: 0.101, high: 0.298, better: 20, worse: 6 },
  },
]
const end = {
  progress,
  course,
  seconds: 812,
  directory: '/home/me/.perdure/runs/demo',
  uiUrl: 'http://127.0.0.1:8233',
}

test('every success has its number of episodes and its 95 % interval, and so does the difference', () => {
  const text = finalReport(end, false)
  expect(text).toMatch(/held_out │ +80 │ warm start \(v0\) │ 60\.0 % \(49\.0–70\.0\)/)
  expect(text).toMatch(/held_out │ +70 │ v60 +│ 80\.0 % \(69\.2–87\.7\)/)
  // The figures of the comparison, which pairs them: two independent rates would give +5.2 to +33.4.
  expect(text).toContain('held_out: +20.0 points (+10.1 to +29.8) from warm start (v0) to v60')
})

test('what an evaluation lost to the infrastructure is said', () => {
  const evaluations = [{ suite: 'held_out', version: 60, success: 1, n: 5, planned: 40 }]
  const text = finalReport({ ...end, progress: { ...progress, evaluations } }, false)
  expect(text).toMatch(/held_out │ 5 of 40, 35 lost │ v60/)
})

test('the expert of a suite is listed below what the policy reached', () => {
  const experts = [{ suite: 'held_out', success: 0.95, n: 80 }]
  const text = finalReport({ ...end, progress: { ...progress, experts } }, false)
  expect(text).toMatch(/v60 .*\n.*held_out │ +80 │ the expert +│ 95\.0 % \(87\.8–98\.0\)/)
})

test('it says what the run cost, where it lies and how to continue', () => {
  const text = finalReport({ ...end, home: '/data/p' }, false)
  for (const part of ['60 of 60', '13 min 32 s', '7,680', '2,000,000', end.directory, end.uiUrl])
    expect(text).toContain(part)
  expect(text).toContain(`${commandName()} eval demo --home /data/p`)
})

test('it fits a terminal of 80 columns', () => {
  expect(
    Math.max(
      ...finalReport(end, false)
        .split('\n')
        .map((line) => line.length),
    ),
  ).toBeLessThanOrEqual(80)
})

test('a run that ended early names perdure resume first', () => {
  const text = finalReport({ ...end, progress: { ...progress, phase: 'stopped', evaluations: [] } }, false)
  expect(text).toContain('No evaluation finished.')
  expect(text.indexOf('perdure resume')).toBeLessThan(text.indexOf('perdure status'))
})

test('a run whose policy never changed says so first, with the likely cause and what to do', () => {
  const standstill = { groups: 8, won: 0, lost: 8, unusable: 0.1, cutOff: 0, updates: 60 }
  const nothingLearnt = { ...standstill, cause: 'all_lost' } as const
  const text = finalReport({ ...end, progress: { ...progress, emptyUpdates: 60, nothingLearnt } }, false)
  const flat = text.replaceAll(/\s+/g, ' ')
  expect(flat).toMatch(
    /^ The policy never changed: none of 60 updates had anything to learn from\. 0 of 8 groups/,
  )
  expect(flat).toContain('a longer warm start')
  expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80)
  const partly = finalReport({ ...end, progress: { ...progress, emptyUpdates: 7, nothingLearnt } }, false)
  expect(partly).not.toContain('never changed')
  expect(partly).toContain('nothing is learnt')
})
