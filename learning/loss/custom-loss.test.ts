import { expect, it } from 'vitest'
import { type CustomLoss, customTokenLoss } from './custom-loss.ts'

const settings = { clipLow: 0.2, clipHigh: 0.3, dualClip: 3 }
const token = { logprob: -1, behaviourLogprob: -1.5, proximalLogprob: -1.2, advantage: 2, stale: false }

it('a loss sees the token and the settings, and its ratio is to the proximal policy', () => {
  const own: CustomLoss = {
    name: 'plain',
    lossOf: ({ advantage, logprob }, { clipHigh }) => {
      return { loss: -advantage * logprob * clipHigh, derivative: -advantage * clipHigh, clipped: true }
    },
  }
  const { ratio, ...found } = customTokenLoss(own, token, settings)
  expect(found).toEqual({ loss: 0.6, derivative: -0.6, clipped: true })
  expect(ratio).toBeCloseTo(Math.exp(0.2), 12)
})

// [CUSTOM-LOSS-2]
it('a loss gets copies: what it writes to the token and the settings changes nothing', () => {
  const own: CustomLoss = {
    name: 'writes',
    lossOf(token, settings) {
      Object.assign(token, { logprob: 9, proximalLogprob: 0, advantage: 9 })
      Object.assign(settings, { clipLow: 9 })
      return { loss: 0, derivative: 0 }
    },
  }
  const before = structuredClone({ token, settings })
  expect(customTokenLoss(own, token, settings).ratio).toBeCloseTo(Math.exp(0.2), 12)
  expect({ token, settings }).toEqual(before)
})

// [CUSTOM-LOSS-1]
it.each([
  [undefined],
  [{}],
  [{ loss: 1 }],
  [{ loss: Number.NaN, derivative: 0 }],
  [{ loss: 0, derivative: Number.POSITIVE_INFINITY }],
])('what is no finite number is refused: %j', (value) => {
  const own = { name: 'broken', lossOf: () => value } as unknown as CustomLoss
  expect(() => customTokenLoss(own, token, settings)).toThrow(/expected finite numbers/)
})
