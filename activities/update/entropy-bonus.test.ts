import { expect, it } from 'vitest'
import { configSchema } from '../../config/schema/schema.ts'
import { runId } from '../../identity/identity.ts'
import type { StoredUpdate } from '../../storage/records/updates.ts'
import { entropyBonus } from './entropy-bonus.ts'

const run = runId('a')
const target = { entropyTarget: 0.4, entropyStep: 0.002, entropyMost: 0.05 }

function bonusAt(step: number, stored: Readonly<Record<number, object>>, learning = {}, smooths = false) {
  const get = async (_: unknown, at: number) =>
    stored[at] && ({ statistics: stored[at] } as unknown as StoredUpdate)
  const config = configSchema.parse({
    learning: { entropyCoefficient: 0.01, ...learning },
    training: { updates: 4 },
  })
  return entropyBonus({ get }, { run, step }, config, smooths)
}

// [ENTROPY-TARGET-1] [ENTROPY-BONUS-1]
it('the coefficient continues from that of the update before, as it is stored', async () => {
  const stored = { 1: { gradientNorm: 1, entropy: 0.2, entropyCoefficient: 0.01 } }
  // 0.01 + 0.002·(0.4 − 0.2)/0.4
  const bonus = await bonusAt(2, stored, target)
  expect(bonus).toEqual({ coefficient: expect.closeTo(0.011, 12) })
  expect(await bonusAt(2, stored, target)).toEqual(bonus)
  expect(await bonusAt(1, {}, target)).toEqual({ coefficient: 0.01 })
  expect(await bonusAt(2, stored)).toEqual({ coefficient: 0.01 })
})

// [ENTROPY-BONUS-2]
it('an update that trained nothing is passed over', async () => {
  const stored = {
    1: { gradientNorm: 1, entropy: 0.2, entropyCoefficient: 0.02 },
    2: { gradientNorm: 0, entropy: 0, entropyCoefficient: 0.03 },
  }
  const { coefficient } = await bonusAt(3, stored, target)
  expect(coefficient).toBeCloseTo(0.021, 12)
  // Two of four updates are done: β = 1 − 0.2·(1 − e⁻²) = 0.82707, and α = 2.
  expect((await bonusAt(3, stored, {}, true)).band).toEqual({
    low: expect.closeTo(0.1, 12),
    high: expect.closeTo(0.3, 12),
    pull: expect.closeTo(1.65413, 5),
  })
  expect((await bonusAt(1, {}, {}, true)).band).toBeUndefined()
})

it('bounds are about the mean of the last twenty updates', async () => {
  const stored = Object.fromEntries(
    Array.from({ length: 30 }, (_, at) => [at + 1, { gradientNorm: 1, entropy: at < 10 ? 100 : 0.4 }]),
  )
  const { band } = await bonusAt(31, stored, {}, true)
  expect(band?.high).toBeCloseTo(0.6, 12)
})
