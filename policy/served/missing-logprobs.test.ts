import { expect, it } from 'vitest'
import { reportedLogprobs, withMissing } from './missing-logprobs.ts'
import type { Answer, Ask } from './server-protocol.ts'

const reported = (...pairs: readonly (readonly [number, number])[]) =>
  pairs.map(([token, logprob]) => ({ token, logprob }))

// [MISSING-1]
it('a logprob belongs to a token where it can be no other’s', () => {
  expect(reportedLogprobs([5, 6, 7], reported([5, -1], [6, -2], [7, -3]))).toEqual([-1, -2, -3])
  expect(reportedLogprobs([5, 6, 7], reported([5, -1], [7, -3]))).toEqual([-1, undefined, -3])
  // Which of the two fives it is for is not known.
  expect(reportedLogprobs([5, 5, 7], reported([5, -1], [7, -3]))).toEqual([undefined, undefined, -3])
  expect(reportedLogprobs([5, 6], reported([9, -1]))).toEqual([undefined, undefined])
  expect(reportedLogprobs([5], reported())).toEqual([undefined])
})

it('a missing logprob is asked for after the tokens before it, up to the end of the action', async () => {
  const ask: Ask = {
    ...{ id: 'turn', context: Int32Array.of(1, 2), maxNewTokens: 8, temperature: 0.5, stopTokens: [7] },
    ...{ seed: 1, alternatives: 0 },
  }
  const answer: Answer = {
    ...{ tokens: [5, 6, 7, 8], logprobs: [-1, undefined, -3, undefined] },
    ...{ promptTokens: 2, cachedTokens: 0, alternatives: [] },
  }
  const asked: Ask[] = []
  const call = async (one: Ask): Promise<Answer> => {
    asked.push(one)
    return { ...answer, alternatives: [reported([6, Math.log(0.2)], [9, Math.log(0.8)])] }
  }
  const whole = await withMissing(answer, ask, { vocabulary: 10, call })
  // At temperature 1 they are 0.2 and 0.8; at 0.5 their squares, 0.04 and 0.64 of 0.68.
  expect(whole.logprobs[1]).toBeCloseTo(Math.log(0.04 / 0.68), 12)
  expect(whole.logprobs.toSpliced(1, 1)).toEqual([-1, -3, undefined])
  expect(asked).toEqual([
    {
      ...{ id: 'turn-1', context: Int32Array.of(1, 2, 5), maxNewTokens: 1, temperature: 1 },
      ...{ stopTokens: [], seed: 1, alternatives: 10, forced: 7 },
    },
  ])
})
