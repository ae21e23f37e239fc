import { describe, expect, it } from 'vitest'
import { type AfterTurn, outcomeAfter } from './outcome.ts'

const inProgress: AfterTurn = {
  outcome: null,
  invalidInARow: 1,
  invalidActionLimit: 2,
  turns: 3,
  turnLimit: 4,
}

describe('an episode after a turn', () => {
  it('is in progress while nothing ends it', () => {
    expect(outcomeAfter(inProgress)).toBe(null)
  })

  it('has ended as its environment says, whatever else would end it', () => {
    const all = { ...inProgress, invalidInARow: 2, turns: 4 }
    expect(outcomeAfter({ ...all, outcome: 'completed' })).toBe('completed')
    expect(outcomeAfter({ ...inProgress, outcome: 'task_limit' })).toBe('task_limit')
  })

  it('ends with invalid actions in a row, also in its last turn', () => {
    expect(outcomeAfter({ ...inProgress, invalidInARow: 2 })).toBe('invalid_action')
    expect(outcomeAfter({ ...inProgress, invalidInARow: 2, turns: 4 })).toBe('invalid_action')
  })

  it('ends with its last turn', () => {
    expect(outcomeAfter({ ...inProgress, turns: 4 })).toBe('turn_limit')
    expect(outcomeAfter({ ...inProgress, turns: 5 })).toBe('turn_limit')
  })
})
