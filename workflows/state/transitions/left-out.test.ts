import { expect, it } from 'vitest'
import { resolveConfig } from '../../../config/files/loader.ts'
import type { GroupReport } from '../../../contract/messages.ts'
import { initialState, type TrainingState } from '../../../contract/training-state.ts'
import { groupId, runId } from '../../../identity/identity.ts'
import { jsonBytes, largestState } from '../../../learning/run/state-bounds.ts'
import { unplayableWords } from '../fruitless-groups.ts'
import { progressOf } from '../training-progress.ts'
import { receiveGroup, recordAdmissions } from './groups.ts'
import { followInstances } from './left-out.ts'
import { continueRun } from './phase.ts'

const run = runId('maze')
const loss = { reason: 'reset of maze on train/2 failed: no board' }

/** A run on a split of so many instances. */
function stateOf(size: number | null): TrainingState {
  const config = resolveConfig({ rollout: { groupsPerUpdate: 4, maxStaleness: 0 } })
  const state = initialState(run, config, 0)
  followInstances(state, [size])
  return state
}

/** Plays as many groups as there is room for. @returns their positions */
function play(state: TrainingState, fails: (position: number) => boolean): readonly number[] {
  const groups = recordAdmissions(state)
  for (const { number, position, version, taskIndex } of groups) {
    const isLost = fails(position)
    const episodes = [0, 1].map((reward, sample) => ({
      ...{ episode: `maze/g${number}/s${sample}/a0` as never, outcome: 'completed' as const, reward },
      ...{ success: reward === 1, turns: 1, actionTokens: 1, tokens: 2 },
    }))
    const report: GroupReport = {
      ...{ group: groupId(run, number), number, taskIndex, task: 'maze', version },
      ...(isLost ? { episodes: [], loss } : { episodes }),
    }
    receiveGroup(state, report)
    Object.assign(state, { ready: [] })
  }
  return groups.map(({ position }) => position)
}

it('an instance that failed is not played again, in no pass over the split [UNPLAYABLE-1]', () => {
  const state = stateOf(5)
  const fails = (position: number) => position % 5 === 2
  const played: number[] = []
  for (let round = 0; round < 8; round++) played.push(...play(state, fails))
  expect(played.filter(fails)).toEqual([2])
  expect(new Set(played.map((position) => position % 5)).size).toBe(5)
  expect(new Set(played).size).toBe(played.length)
  expect(progressOf(state).leftOut).toEqual({ count: 1, reason: loss.reason })
})

it('a run of which nothing can be played says so after as many groups as are on their way, and a result takes that back', () => {
  const state = stateOf(null)
  play(state, () => true)
  expect(unplayableWords(state)).toBeUndefined()
  play(state, () => true)
  expect(unplayableWords(state)).toBe(
    `no instance can be played: the last 8 groups failed by the environment's own doing, the latest so: ${loss.reason}`,
  )
  play(state, () => false)
  expect(unplayableWords(state)).toBeUndefined()
})

it('a person who continues the run has all instances played again', () => {
  const state = stateOf(5)
  for (let round = 0; round < 3; round++) play(state, (position) => position % 5 === 2)
  continueRun(state)
  expect(progressOf(state).leftOut).toBeUndefined()
  const played = [play(state, () => false), play(state, () => false)].flat()
  expect(played.some((position) => position % 5 === 2)).toBe(true)
})

it('what is carried of them is bounded', () => {
  const state = stateOf(null)
  for (let round = 0; round < 300; round++) play(state, () => true)
  expect(state.leftOut?.count).toBe(1200)
  expect(jsonBytes(state)).toBeLessThan(largestState(state.config))
})
