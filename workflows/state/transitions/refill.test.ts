/** Groups that teach nothing, in the state of a run: skipped within their bound, whatever fails, comes twice or late. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { resolveConfig } from '../../../config/files/loader.ts'
import type { GroupReport } from '../../../contract/messages.ts'
import { initialState, type TrainingState } from '../../../contract/training-state.ts'
import { groupId, runId } from '../../../identity/identity.ts'
import { giveUpOverdue, receiveGroup, recordAdmissions } from './groups.ts'
import { interrupt } from './phase.ts'
import { batchIsReady, roomForGroups } from './pipeline.ts'
import { settleUpdate, skippedFor, startBatch } from './update.ts'
import { recordVersion } from './versions.ts'

const run = runId('refill')

interface Bound {
  readonly groupsPerUpdate: number
  readonly maxStaleness: number
  readonly refill: number
}

function stateWith(rollout: Bound, updates = 1000): TrainingState {
  return initialState(run, resolveConfig({ rollout, training: { updates } }), 0)
}

/** @param rewards none: the group was given up */
function report(state: TrainingState, number: number, rewards: readonly number[]): GroupReport {
  const version = state.inFlight.find((group) => group.number === number)?.version ?? 0
  const episodes = rewards.map((reward, sample) => ({
    episode: `${run}/g${number}/s${sample}/a0` as never,
    outcome: 'completed' as const,
    reward,
    success: reward === 1,
    turns: 3,
    actionTokens: 9,
    tokens: 30,
  }))
  return { group: groupId(run, number), number, taskIndex: 0, task: 'alfworld', version, episodes }
}

/** Takes the batch of an update. @returns the numbers that it consumes */
function begin(state: TrainingState): readonly number[] {
  return [...startBatch(state).map(({ number }) => number), ...skippedFor(state)].sort((a, b) => a - b)
}

function settle(state: TrainingState, numbers: readonly number[]): void {
  const groups = numbers.map((number) => groupId(run, number))
  const signal = { groups: groups.length, withPreference: 1, won: 0, lost: 0, unusable: 0, cutOff: 0 }
  settleUpdate(state, { groups, success: {}, reward: {}, samples: {}, staleness: 0, signal })
  recordVersion(state, state.version + 1)
}

const won = [1, 1]
const mixed = [0, 1]

describe('a group whose rewards are all equal', () => {
  it('makes room for another, fills no batch, and is consumed with the update that it was played for', () => {
    const state = stateWith({ groupsPerUpdate: 2, maxStaleness: 0, refill: 1 })
    recordAdmissions(state)
    receiveGroup(state, report(state, 0, won))
    receiveGroup(state, report(state, 0, won))
    expect(state.ready).toEqual([])
    expect(state.episodes).toBe(2)
    expect(roomForGroups(state)).toBe(1)
    expect(recordAdmissions(state).map(({ number }) => number)).toEqual([2])
    receiveGroup(state, report(state, 1, mixed))
    receiveGroup(state, report(state, 2, mixed))
    expect(batchIsReady(state)).toBe(true)
    const consumed = begin(state)
    expect(consumed).toEqual([0, 1, 2])
    settle(state, consumed)
    expect(state).toMatchObject({ ready: [], training: [], skipped: [] })
  })

  it('fills the batch once as many were skipped as may be, and where the run may skip none', () => {
    const state = stateWith({ groupsPerUpdate: 2, maxStaleness: 0, refill: 1 })
    for (let number = 0; number < 4; number++) {
      recordAdmissions(state)
      receiveGroup(state, report(state, number, won))
    }
    expect(begin(state)).toEqual([0, 1, 2, 3])
    expect(state.training.map(({ number }) => number)).toEqual([2, 3])
    const off = stateWith({ groupsPerUpdate: 2, maxStaleness: 0, refill: 0 })
    recordAdmissions(off)
    receiveGroup(off, report(off, 0, won))
    expect(off.ready).toHaveLength(1)
  })

  it('is skipped for the update after the one in progress', () => {
    const state = stateWith({ groupsPerUpdate: 1, maxStaleness: 1, refill: 1 })
    recordAdmissions(state)
    receiveGroup(state, report(state, 0, mixed))
    const consumed = begin(state)
    receiveGroup(state, report(state, 1, won))
    expect(skippedFor(state)).toEqual([])
    settle(state, consumed)
    expect(skippedFor(state)).toEqual([1])
  })

  it('fills a place of the batch where its report says that its turns teach something', () => {
    const state = stateWith({ groupsPerUpdate: 2, maxStaleness: 0, refill: 1 })
    recordAdmissions(state)
    receiveGroup(state, { ...report(state, 0, won), teaches: true })
    receiveGroup(state, report(state, 1, won))
    expect(state.ready.map(({ number }) => number)).toEqual([0])
    expect(state.skipped).toEqual([{ step: 1, numbers: [1] }])
  })

  it('is learnt from in the published arithmetic of task normalization', () => {
    const published = stateWith({ groupsPerUpdate: 2, maxStaleness: 0, refill: 1 })
    const learning = { ...published.config.learning, taskNormalization: 'per_task_published' as const }
    const state = { ...published, config: { ...published.config, learning } }
    recordAdmissions(state)
    receiveGroup(state, report(state, 0, won))
    expect(state.ready).toHaveLength(1)
  })
})

const bounds = fc.record({
  groupsPerUpdate: fc.integer({ min: 1, max: 4 }),
  maxStaleness: fc.integer({ min: 0, max: 3 }),
  refill: fc.constantFrom(0, 0.5, 1, 2),
})

// [REFILL-1] [STATE-4] [STATE-5]
it('an update consumes each group once, none older than η, and at most refill · B that it need not, whatever happens', () => {
  const scenario = fc.record({
    rollout: bounds,
    /** Rewards of each group; null: it is given up. */
    rewards: fc.infiniteStream(fc.constantFrom(won, mixed, [0, 0], null)),
    choices: fc.infiniteStream(fc.nat(1000)),
  })
  fc.assert(
    fc.property(scenario, ({ rollout, rewards, choices }) => {
      let state = stateWith(rollout, 10)
      const { groupsPerUpdate, maxStaleness, refill } = rollout
      const most = Math.floor(groupsPerUpdate * refill)
      const consumed = new Set<number>()
      const admittedAt = new Map<number, number>()
      const known: GroupReport[] = []
      const end = () => {
        const group = state.inFlight[(choices.next().value ?? 0) % state.inFlight.length]
        if (group === undefined) return
        known.push(report(state, group.number, rewards.next().value ?? []))
        receiveGroup(state, known.at(-1) as GroupReport)
        // A report that was received before is received again.
        receiveGroup(state, known[(choices.next().value ?? 0) % known.length] as GroupReport)
      }
      for (let moves = 0; state.step < 10; moves++) {
        expect(moves).toBeLessThan(5000)
        for (const { number, version } of recordAdmissions(state)) admittedAt.set(number, version)
        const { inFlight, ready } = state
        expect(inFlight.length + ready.length).toBeLessThanOrEqual((maxStaleness + 1) * groupsPerUpdate)
        if (!batchIsReady(state)) {
          end()
          continue
        }
        let numbers = begin(state)
        if ((choices.next().value ?? 0) % 3 === 0) end()
        if ((choices.next().value ?? 0) % 4 === 0) {
          // The execution ends within the update, and another takes over.
          interrupt(state, [])
          state = JSON.parse(JSON.stringify(state))
          numbers = begin(state)
        }
        expect(state.training).toHaveLength(groupsPerUpdate)
        expect(numbers.length).toBeLessThanOrEqual(groupsPerUpdate + most)
        for (const number of numbers) {
          expect(consumed.has(number)).toBe(false)
          consumed.add(number)
          expect(state.version - (admittedAt.get(number) ?? -99)).toBeLessThanOrEqual(maxStaleness)
        }
        settle(state, numbers)
      }
    }),
    { numRuns: 200 },
  )
})

// [REFILL-2]
it('with η = 0 the groups that an update consumes follow from their rewards, in whatever order they end', () => {
  const scenario = fc.record({
    rollout: bounds.map((bound) => ({ ...bound, maxStaleness: 0 })),
    kinds: fc.array(fc.boolean(), { minLength: 60, maxLength: 60 }),
    orders: fc.tuple(fc.infiniteStream(fc.nat(1000)), fc.infiniteStream(fc.nat(1000))),
  })
  fc.assert(
    fc.property(scenario, ({ rollout, kinds, orders }) => {
      const [one, other] = orders.map((order) => {
        const state = stateWith(rollout, 4)
        const updates: (readonly number[])[] = []
        while (state.step < 4) {
          recordAdmissions(state)
          if (batchIsReady(state)) {
            updates.push(begin(state))
            settle(state, updates.at(-1) ?? [])
            continue
          }
          const group = state.inFlight[(order.next().value ?? 0) % state.inFlight.length]
          if (group !== undefined)
            receiveGroup(state, report(state, group.number, kinds[group.number % 60] ? mixed : won))
        }
        return updates
      })
      expect(one).toEqual(other)
    }),
    { numRuns: 100 },
  )
})

it('[UPDATE-TRANSITION-1] a group is no part of another update, where the store has it consumed with one that was decided otherwise', () => {
  const state = stateWith({ groupsPerUpdate: 1, maxStaleness: 1, refill: 1 })
  recordAdmissions(state)
  receiveGroup(state, report(state, 0, mixed))
  begin(state)
  recordAdmissions(state)
  receiveGroup(state, report(state, 1, won))
  recordAdmissions(state)
  expect(state.skipped).toEqual([{ step: 2, numbers: [1] }])
  const playing = state.inFlight.map(({ number }) => number)
  // Before a power cut the same update was decided with other groups, and is in the store.
  settle(state, [1, ...playing])
  expect([skippedFor(state), state.inFlight]).toEqual([[], []])
  expect(state.ready.map(({ number }) => number)).toEqual([0])
})

it('[RUN-2] an update can start again where the store had the last one with fewer groups than were chosen', () => {
  const state = stateWith({ groupsPerUpdate: 2, maxStaleness: 1, refill: 1 })
  const admitted = recordAdmissions(state)
  expect(admitted).toHaveLength(4)
  for (const { number } of admitted) receiveGroup(state, report(state, number, mixed))
  begin(state)
  // The store had it with one of the two: three groups of version 0 are due at the next update, which takes two.
  settle(state, [0])
  expect(batchIsReady(state)).toBe(false)
  giveUpOverdue(state)
  expect(state.ready).toHaveLength(2)
  expect(batchIsReady(state)).toBe(true)
})
