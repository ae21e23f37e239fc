import { expect, it } from 'vitest'
import { distillation } from './distillation.ts'

const bounds = { clipLow: 0.2, clipHigh: 0.2, dualClip: 3 }
const lossAt = (logprob: number, behaviourLogprob: number, referenceLogprob: number) => {
  const policies = { behaviourLogprob, proximalLogprob: behaviourLogprob, startLogprob: behaviourLogprob }
  const token = { logprob, ...policies, referenceLogprob, advantage: 0, stale: false }
  return distillation.loss.lossesOf([token], bounds)[0]
}

// [DISTILLATION-1]
it('a token gains what the teacher finds it likelier, and loses what it finds it less likely', () => {
  const half = Math.log(0.5)
  // A = ln 0.25 − ln 0.5 = −ln 2, and the ratio is 1.
  expect(lossAt(half, half, Math.log(0.25))).toMatchObject({
    loss: expect.closeTo(Math.LN2, 12),
    derivative: expect.closeTo(Math.LN2, 12),
  })
  // A = ln 2, and the ratio 0.5 / 0.4 = 1.25 is beyond the clip of 1.2.
  expect(lossAt(half, Math.log(0.4), 0)).toMatchObject({
    loss: expect.closeTo(-1.2 * Math.LN2, 12),
    derivative: 0,
  })
  expect(Math.abs(lossAt(half, half, half)?.derivative ?? 1)).toBe(0)
})

it('the mean of its gradients over tokens that the policy samples is that of the reverse divergence', () => {
  // Three tokens with the logits z: ∂KL/∂z_i = p_i · (log p_i − log q_i − KL), and ∂logp_j/∂z_i = [i = j] − p_i.
  const [p, q] = [
    [0.5, 0.3, 0.2],
    [0.2, 0.2, 0.6],
  ] as const
  const derivatives = p.map((each, j) => {
    const logprob = Math.log(each)
    return lossAt(logprob, logprob, Math.log(q[j] ?? 1))?.derivative ?? Number.NaN
  })
  const divergence = p.reduce((sum, each, j) => sum + each * Math.log(each / (q[j] ?? 1)), 0)
  for (const [i, own] of p.entries()) {
    const mean = p.reduce((sum, each, j) => sum + each * (derivatives[j] ?? 0) * ((i === j ? 1 : 0) - own), 0)
    expect(mean).toBeCloseTo(own * (Math.log(own / (q[i] ?? 1)) - divergence), 12)
  }
})
