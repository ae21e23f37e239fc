import { expect, it } from 'vitest'
import { ratioSums } from '../../learning/loss/ratio-statistics.ts'
import { measuredWeights, ratiosByOrigin } from './origin-figures.ts'

const origins = [
  { version: 2, stale: true, ...ratioSums([0, Math.log(3)]) },
  { version: 2, stale: false, ...ratioSums([0]) },
  { version: 4, stale: true, ...ratioSums([0, 0]) },
  { version: 9, stale: false, ...ratioSums([0, 0, 0]) },
]

it('fresh tokens and those from the pool have ratios of their own, over all of their versions', () => {
  const { freshRatios, staleRatios } = ratiosByOrigin(origins)
  expect(freshRatios).toMatchObject({ tokens: 4, kl: 0, effectiveShare: 1 })
  // ratios 1, 3, 1 and 1: 6² / (4 · 12) = 0.75
  expect(staleRatios).toMatchObject({ tokens: 4, effectiveShare: expect.closeTo(0.75, 12) })
  expect(ratiosByOrigin([])).toEqual({})
  expect(ratiosByOrigin(undefined)).toEqual({})
})

it('a member of the pool is weighed by its own tokens and turns, and one without tokens not at all', () => {
  const worth = [
    { version: null, turns: 98, won: 49 },
    { version: 2, turns: 98, won: 24 },
    { version: 4, turns: 98, won: 49 },
    { version: 5, turns: 98, won: 49 },
  ]
  // 2: effective share 4² / (2 · 10) = 0.8, times 0.25 / 0.5; 4 is as the current version
  expect(measuredWeights(worth, origins)).toEqual([
    { version: 2, weight: expect.closeTo(0.4, 12) },
    { version: 4, weight: 1 },
  ])
})
