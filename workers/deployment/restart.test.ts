import { describe, expect, it } from 'vitest'
import { remedyOf, withDescendants } from './restart.ts'

describe('what is done with an execution that does not replay', () => {
  const over = (type: string) => [0, 1, 2, 3, 4, 40].map((restarts) => remedyOf(type, restarts))

  // [RESTART-1]
  it('a run is relaunched three times within an hour, then paused, then left to a person', () => {
    const paused = ['relaunch', 'relaunch', 'relaunch', 'relaunch paused', 'leave', 'leave']
    expect(over('trainingRun')).toEqual(paused)
  })

  // [RESTART-1]
  it('what works for a run begins again three times within an hour, and is ended then', () => {
    for (const type of ['rolloutGroup', 'evaluation', 'branch'])
      expect(new Set(over(type).slice(0, 3))).toEqual(new Set(['begin again']))
    for (const type of ['rolloutGroup', 'evaluation', 'branch', 'episode', 'scheduledEvaluation'])
      expect(new Set(over(type).slice(3))).toEqual(new Set(['terminate']))
  })

  it('a workflow that is none of ours is left alone', () => {
    expect(remedyOf('someoneElses', 0)).toBe('leave')
  })
})

describe('what begins again with others', () => {
  const execution = (workflowId: string, type: string, parent?: string) => ({
    workflowId,
    type,
    parent,
    runId: '',
    taskQueue: '',
    build: '',
  })
  const running = [
    execution('r', 'trainingRun'),
    execution('r/g0', 'rolloutGroup', 'r'),
    execution('r/g0/s0/a0', 'episode', 'r/g0'),
    execution('r/g1', 'rolloutGroup', 'r'),
    execution('r/g1/s0/a0', 'episode', 'r/g1'),
  ]

  it('episodes do with their group, and groups do not with their run', () => {
    const again = (...faulty: string[]) => [...withDescendants(running, new Set(faulty))].toSorted()
    expect(again('r')).toEqual(['r'])
    expect(again('r', 'r/g0')).toEqual(['r', 'r/g0', 'r/g0/s0/a0'])
    expect(again('r/g1/s0/a0')).toEqual(['r/g1/s0/a0'])
    expect(again()).toEqual([])
  })
})
