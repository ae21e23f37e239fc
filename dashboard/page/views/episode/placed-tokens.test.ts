import { expect, test } from 'vitest'
import type { TrajectoryAction, TrajectoryLearnt, TrajectoryTurn } from '../../../contract/trajectory.ts'
import { batchPlaceOf, foundOf, readTokensOf, sampledTokensOf, tokenAt } from './placed-tokens.ts'

function actionOf(
  turn: number,
  begin: number,
  prompt: readonly number[],
  ids: readonly number[],
): TrajectoryAction {
  return {
    message: { role: 'assistant', content: '' },
    problems: [],
    invalid: false,
    finish: 'stop',
    version: turn,
    stale: false,
    begin,
    prompt: { ids: prompt, texts: prompt.map(String) },
    sampled: { ids, texts: ids.map(String), logprobs: ids.map((id) => -id / 10) },
  }
}

const actions = [actionOf(0, 0, [7, 8, 9], [1, 2]), actionOf(1, 5, [6], [3])]
const turns: readonly TrajectoryTurn[] = actions.map((action, turn) => ({
  turn,
  observation: { messages: [], reward: 0, done: false, info: {} },
  action,
}))

// [PLACED-1]
test('positions count what was read and what was sampled', () => {
  const placesOf = (each: typeof sampledTokensOf) =>
    actions.flatMap((action, turn) =>
      each(turn, action).map(({ position, turn, index, id }) => [position, turn, index, id]),
    )
  expect(placesOf(sampledTokensOf)).toEqual([
    [3, 0, 0, 1],
    [4, 0, 1, 2],
    [6, 1, 0, 3],
  ])
  expect(placesOf(readTokensOf)).toEqual([
    [0, 0, 0, 7],
    [1, 0, 1, 8],
    [2, 0, 2, 9],
    [5, 1, 0, 6],
  ])
  expect(tokenAt({ turns }, 6)?.logprob).toBeCloseTo(-0.3)
})

// [PLACED-2]
test('each position is found, and no other', () => {
  const found = [0, 1, 2, 3, 4, 5, 6].map((position) => tokenAt({ turns }, position))
  expect(found.map((token) => [token?.position, token?.id, token?.isSampled])).toEqual([
    [0, 7, false],
    [1, 8, false],
    [2, 9, false],
    [3, 1, true],
    [4, 2, true],
    [5, 6, false],
    [6, 3, true],
  ])
  expect([-1, 7, 0.5].map((position) => tokenAt({ turns }, position))).toEqual([
    undefined,
    undefined,
    undefined,
  ])
})

test('what the update found is that of the same token, and nothing is made up where it is not known', () => {
  const learnt: TrajectoryLearnt = {
    update: 1,
    version: 1,
    advantage: 1,
    batch: { file: 'b', begin: 0 },
    found: [
      { ratios: [1.1, 0.9], entropies: [0.5, 0.25] },
      { ratios: [2], entropies: [1] },
    ],
  }
  expect(foundOf(learnt, { turn: 0, index: 1, isSampled: true })).toEqual({ ratio: 0.9, entropy: 0.25 })
  const none = { ratio: Number.NaN, entropy: Number.NaN }
  expect(foundOf(learnt, { turn: 0, index: 1, isSampled: false })).toEqual(none)
  expect(foundOf(undefined, { turn: 0, index: 1, isSampled: true })).toEqual(none)
})

test('the place of a token in the batch is that of its turn, which branches move', () => {
  const learnt: TrajectoryLearnt = {
    ...{ update: 1, version: 1, advantage: 1 },
    batch: { file: 'batches/1.safetensors', begin: 100 },
  }
  const [read, sampled] = [tokenAt({ turns }, 5), tokenAt({ turns }, 6)]
  if (read === undefined || sampled === undefined) throw new Error('there are no such tokens')
  expect([batchPlaceOf(learnt, read), batchPlaceOf(learnt, sampled)]).toEqual([105, 106])
  const branched = { ...learnt, places: [null, 41] }
  expect([batchPlaceOf(branched, read), batchPlaceOf(branched, sampled)]).toEqual([140, 141])
  const first = tokenAt({ turns }, 0)
  expect(first === undefined || batchPlaceOf(branched, first)).toBeUndefined()
})
