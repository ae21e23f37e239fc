import { expect, it } from 'vitest'
import { episodeId, groupId, runId } from '../../identity/identity.ts'
import type { StoredAction } from './actions.ts'
import { sequencesOf } from './sequences.ts'

const episode = episodeId(groupId(runId('demo'), 0), 0, 0)

/** A turn with one token read, `10 · turn`, and one sampled, `10 · turn + 1`. */
function turnOf(turn: number, place?: readonly [branch: number, follows: number]): StoredAction {
  const message = { role: 'assistant', content: '' } as const
  return {
    ...{ episode, turn, version: turn, finish: 'stop', message, problems: [] },
    prompt: Int32Array.of(10 * turn),
    tokens: Int32Array.of(10 * turn + 1),
    logprobs: Float32Array.of(-turn),
    ...(place && { asked: { branch: place[0], follows: place[1], form: '', request: '', answer: '' } }),
  }
}

// Turn 1 continues turn 0; turn 2 follows turn 0 too, on a branch of its own; turn 3 continues turn 1.
const branching = [turnOf(0, [0, -1]), turnOf(1, [0, 0]), turnOf(2, [1, 0]), turnOf(3, [0, 1])]

it('turns that follow one another are one sequence', () => {
  expect(sequencesOf([turnOf(0), turnOf(1)], 'last')).toEqual({
    tokens: Int32Array.of(0, 1, 10, 11),
    lossMask: Uint8Array.of(0, 1, 0, 1),
    logprobs: Float32Array.of(0, -0, 0, -1),
    versions: Int32Array.of(-1, 0, -1, 1),
    places: [
      { begin: 1, end: 2 },
      { begin: 3, end: 4 },
    ],
  })
})

// [SEQUENCES-1] [SEQUENCES-2] The shared turn 0 counts in the first branch, and is context of the second.
it('each branch is a sequence, and a turn that branches share counts once', () => {
  const { tokens, lossMask, laterSequences, places } = sequencesOf(branching, 'all')
  expect(tokens).toEqual(Int32Array.of(0, 1, 10, 11, 30, 31, 0, 1, 20, 21))
  expect(lossMask).toEqual(Uint8Array.of(0, 1, 0, 1, 0, 1, 0, 0, 0, 1))
  expect(laterSequences).toEqual([6])
  expect(places.map((place) => place?.begin)).toEqual([1, 3, 9, 5])
})

it('the last branch alone is that of the last turn, with the turns that it shares', () => {
  const { tokens, lossMask, laterSequences, places } = sequencesOf(branching.slice(0, 3), 'last')
  expect(tokens).toEqual(Int32Array.of(0, 1, 20, 21))
  expect(lossMask).toEqual(Uint8Array.of(0, 1, 0, 1))
  expect(laterSequences).toBeUndefined()
  expect(places).toEqual([{ begin: 1, end: 2 }, undefined, { begin: 3, end: 4 }])
})
