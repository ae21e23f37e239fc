import { expect, test } from 'vitest'
import type { Observation, TrajectoryAction, TrajectoryTurn } from '../../../contract/trajectory.ts'
import { secondsOf, secondsText, turnSeconds } from './turn-seconds.ts'

function observation(seconds?: number): Observation {
  const took = seconds === undefined ? {} : { took: { seconds, attempt: 1 } }
  return { messages: [], reward: 0, done: false, info: {}, ...took }
}

function turnOf(turn: number, answered: number, sampled?: number): TrajectoryTurn {
  const took = sampled === undefined ? {} : { took: { seconds: sampled, attempt: 1 } }
  return { turn, observation: observation(answered), action: { ...took } as TrajectoryAction }
}

// [TURNSECONDS-1]
test('the environment’s seconds of a turn are those of the answer to it, the last one’s those of the ending', () => {
  const turns = [turnOf(0, 9, 1), turnOf(1, 0.25, 2), turnOf(2, 0.5)]
  expect(turnSeconds({ turns, ending: observation(0.75) })).toEqual([
    { sampling: 1, step: 0.25 },
    { sampling: 2, step: 0.5 },
    { sampling: undefined, step: 0.75 },
  ])
})

test('a turn that is being played has no seconds yet', () => {
  const playing: TrajectoryTurn = { turn: 0, observation: observation(3) }
  expect(turnSeconds({ turns: [playing] })).toEqual([{ sampling: undefined, step: undefined }])
  expect(secondsOf({ sampling: undefined, step: undefined })).toBeUndefined()
  expect(secondsOf({ sampling: 1, step: undefined })).toBe(1)
})

test('seconds are written in the unit that a person reads at once', () => {
  expect([0, 0.0314, 0.9996, 2.345, 250].map(secondsText)).toEqual([
    '< 1 ms',
    '31 ms',
    '1 s',
    '2.35 s',
    '4 min 10 s',
  ])
})
