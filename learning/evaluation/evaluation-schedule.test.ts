import { expect, it } from 'vitest'
import { isEvaluationDue } from './evaluation-schedule.ts'

it('an evaluation is due at the start and after every so many updates', () => {
  const due = (every: number) => [0, 1, 2, 3, 4].filter((step) => isEvaluationDue(step, every))
  expect(due(2)).toEqual([0, 2, 4])
  expect(due(0)).toEqual([0])
})
