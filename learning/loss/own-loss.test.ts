import { expect, it } from 'vitest'
import { type OwnLoss, ownTokenLoss } from './own-loss.ts'

const settings = { clipLow: 0.2, clipHigh: 0.3, dualClip: 3 }
const token = { logprob: -1, behaviourLogprob: -1.5, proximalLogprob: -1.2, advantage: 2, stale: false }

it('a loss sees the token and the settings, and its ratio is to the proximal policy', () => {
  const own: OwnLoss = {
    name: 'plain',
    lossOf: ({ advantage, logprob }, { clipHigh }) => {
      return { loss: -advantage * logprob * clipHigh, derivative: -advantage * clipHigh, clipped: true }
    },
  }
  const { ratio, ...found } = ownTokenLoss(own, token, settings)
  expect(found).toEqual({ loss: 0.6, derivative: -0.6, clipped: true })
  expect(ratio).toBeCloseTo(Math.exp(0.2), 12)
})

// [OWN-LOSS-2]
it('a loss gets copies: what it writes to the token and the settings changes nothing', () => {
  const own: OwnLoss = {
    name: 'writes',
    lossOf(token, settings) {
      Object.assign(token, { logprob: 9, proximalLogprob: 0, advantage: 9 })
      Object.assign(settings, { clipLow: 9 })
      return { loss: 0, derivative: 0 }
    },
  }
  const before = structuredClone({ token, settings })
  expect(ownTokenLoss(own, token, settings).ratio).toBeCloseTo(Math.exp(0.2), 12)
  expect({ token, settings }).toEqual(before)
})

// [OWN-LOSS-1]
it.each([
  [undefined],
  [{}],
  [{ loss: 1 }],
  [{ loss: Number.NaN, derivative: 0 }],
  [{ loss: 0, derivative: Number.POSITIVE_INFINITY }],
])('what is no finite number is refused: %j', (value) => {
  const own = { name: 'broken', lossOf: () => value } as unknown as OwnLoss
  expect(() => ownTokenLoss(own, token, settings)).toThrow(/expected finite numbers/)
})
