import { expect, test } from 'vitest'
import { ratioSums } from '../../../learning/loss/ratio-statistics.ts'
import { originsOf } from './origins.ts'

test('each origin of tokens has its own ratios; what was read has none', () => {
  const origins = originsOf(
    {
      lossMask: Uint8Array.from([0, 1, 1, 0, 1, 1]),
      versions: Int32Array.from([-1, 4, 2, -1, 4, 4]),
      stale: Uint8Array.from([0, 0, 1, 0, 1, 0]),
    },
    { logRatios: Float32Array.from([0, 0.5, -1, 0, 0.25, 2]) },
  )
  expect(origins).toEqual([
    { version: 2, stale: true, ...ratioSums([-1]) },
    { version: 4, stale: false, ...ratioSums([0.5, 2]) },
    { version: 4, stale: true, ...ratioSums([0.25]) },
  ])
})
