/** Instances that were won are played less often: in the state of a run, whatever order groups end in. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { resolveConfig } from '../config/loader.ts'
import { groupId, runId } from '../identity/identity.ts'
import { batchIsReady } from './pipeline.ts'
import { currentState, initialState, type TrainingState } from './training-state.ts'
import { enterGroups, receiveGroup } from './transitions/groups.ts'
import { followInstances } from './transitions/instances.ts'
import { settleUpdate, skippedFor, takeBatch } from './transitions/update.ts'
import { enterVersion } from './transitions/versions.ts'

const run = runId('won')

/** Plays updates of a split of six instances, of which the even ones are always won. @returns positions in their order */
function positionsPlayed(wonAgain: number, updates: number, order: Iterator<number>): number[] {
  const config = resolveConfig({ rollout: { groupsPerUpdate: 2, maxStaleness: 0, refill: 0.5, wonAgain } })
  let state: TrainingState = initialState(run, config, 0)
  followInstances(state, [6])
  const positions = new Map<number, number>()
  while (state.step < updates) {
    for (const { number, position } of enterGroups(state)) positions.set(number, position)
    if (batchIsReady(state)) {
      const numbers = [...takeBatch(state).map(({ number }) => number), ...skippedFor(state)]
      const groups = numbers.map((number) => groupId(run, number))
      settleUpdate(state, { groups, success: {}, reward: {}, samples: {}, staleness: 0 })
      enterVersion(state, state.version + 1)
      state = currentState(JSON.parse(JSON.stringify(state)))
      continue
    }
    const group = state.inFlight[(order.next().value ?? 0) % state.inFlight.length]
    if (group === undefined) throw new RangeError('nothing is in flight')
    const won = (group.position % 6) % 2 === 0
    const episodes = [true, won].map((success, sample) => ({
      episode: `${run}/g${group.number}/s${sample}/a0` as never,
      outcome: 'completed' as const,
      reward: success ? 1 : 0,
      success,
      turns: 1,
      actionTokens: 1,
      tokens: 2,
    }))
    const { number, taskIndex, version } = group
    receiveGroup(state, { group: groupId(run, number), number, taskIndex, task: '', version, episodes })
  }
  expect(state.judged).toEqual([])
  return [...positions].sort(([a], [b]) => a - b).map(([, position]) => position)
}

const inOrder = () => Array.from({ length: 1000 }, () => 0).values()

it('an instance is passed over once it was won, and played on where it was not', () => {
  const positions = positionsPlayed(0, 12, inOrder())
  // Each instance is played in the first round; from then on only the odd ones are.
  expect(positions.slice(0, 6)).toEqual([0, 1, 2, 3, 4, 5])
  expect(positions.slice(8).every((position) => position % 2 === 1)).toBe(true)
  expect(positionsPlayed(1, 12, inOrder()).slice(0, 20)).toEqual(Array.from({ length: 20 }, (_, at) => at))
})

it('with η = 0 the positions do not depend on the order in which groups end', () => {
  const orders = fc.tuple(fc.infiniteStream(fc.nat(9)), fc.infiniteStream(fc.nat(9)))
  fc.assert(
    fc.property(orders, fc.constantFrom(0, 0.3, 0.8), ([one, other], wonAgain) => {
      expect(positionsPlayed(wonAgain, 8, one)).toEqual(positionsPlayed(wonAgain, 8, other))
    }),
    { numRuns: 40 },
  )
})
