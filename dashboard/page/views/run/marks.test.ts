import { expect, test } from 'vitest'
import type { RunCurves } from '../../../contract/curves.ts'
import type { AuditMark } from '../../../contract/run.ts'
import { axisOf } from './axis.ts'
import { marksOf } from './marks.ts'

/** Two updates; then the run went back to version 1, as version 3. */
const curves = {
  step: [1, 2],
  version: [1, 2],
  time: [1000, 2000],
  tokensSoFar: [10, 20],
  turnsSoFar: [4, 8],
  refused: [],
  rollbacks: [{ version: 3, to: 1, from: 2, time: 2500 }],
  created: 0,
} as unknown as RunCurves

function ordered(what: string, to: AuditMark['to'], step: number): AuditMark {
  const entry = { number: 1, time: 0, by: 'me', from: null, version: step, effectVersion: step, reason: null }
  return { ...entry, what, to, step }
}

// [MARKS-1]
test('every order has a mark, and a roll-back that of the version which it made', () => {
  const audit = [
    ordered('evaluate', 'few', 0),
    ordered('pause', null, 1),
    ordered('checkpoint', 2, 2),
    ordered('rollback', 1, 2),
    ordered('promote', 1, 2),
  ]
  const marks = marksOf(audit, curves, axisOf('tokens', curves), 0)
  expect(marks.map(({ at, text }) => [at, text]).toSorted()).toEqual([
    [0, 'evaluate on few, by me'],
    [10, 'pause, by me'],
    [20, 'checkpoint of v2, by me'],
    [20, 'promote v1, by me'],
    [20, 'rolled back from v2 to v1'],
  ])
})

test('an event before the first update is placed at the first one, where the axis begins with it', () => {
  const [mark] = marksOf([ordered('pause', null, 0)], curves, axisOf('updates', curves))
  expect(mark?.at).toBe(1)
})
