import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { LossToken } from '../algorithms/algorithm.ts'
import { cispo } from '../algorithms/losses/cispo.ts'
import { gspo } from '../algorithms/losses/gspo.ts'
import { boundedK3, entropyGradient, entropyOf, k3, type TokenObjective, tokenLoss } from './objective.ts'

const plain: TokenObjective = {
  clipLow: 0.2,
  clipHigh: 0.2,
  dualClip: 3,
  klCoefficient: 0,
  entropyCoefficient: 0,
}

function lossToken(logprob: number, behaviourLogprob: number, advantage: number): LossToken {
  const others = { proximalLogprob: behaviourLogprob, startLogprob: logprob }
  return { logprob, behaviourLogprob, ...others, advantage, stale: false }
}

function atRatio(ratio: number, advantage: number): LossToken {
  return lossToken(-1 + Math.log(ratio), -1, advantage)
}

/** Central difference; its error is of order step². */
function slope(f: (x: number) => number, x: number, step = 1e-5): number {
  return (f(x + step) - f(x - step)) / (2 * step)
}

const logprob = fc.double({ min: -6, max: -0.01, noNaN: true })
const advantage = fc.double({ min: -3, max: 3, noNaN: true })

/** A difference quotient says nothing at a kink: |r − edge| must exceed the step. */
function awayFromKinks(ratio: number, objective: TokenObjective): boolean {
  return [1 - objective.clipLow, 1 + objective.clipHigh, objective.dualClip].every(
    (edge) => Math.abs(ratio - edge) > 1e-3,
  )
}

describe('tokenLoss', () => {
  // [OBJECTIVE-3]
  it('a token sampled by the very policy has loss and derivative −A', () => {
    fc.assert(
      fc.property(logprob, advantage, (logp, value) => {
        const { loss, derivative } = tokenLoss(
          { logprob: logp, behaviourLogprob: logp, advantage: value },
          plain,
        )
        expect(derivative).toBe(loss)
        expect(loss).toBeCloseTo(-value, 12)
      }),
    )
  })

  // [OBJECTIVE-2]
  it('a positive advantage is clipped above only', () => {
    // r = 1.5 > 1.2: L = −1.2; r = 0.5: max(−0.5, −0.8) = −0.5
    expect(tokenLoss(atRatio(1.5, 1), plain).loss).toBeCloseTo(-1.2, 12)
    expect(tokenLoss(atRatio(1.5, 1), plain)).toMatchObject({ derivative: 0, clipped: true })
    expect(tokenLoss(atRatio(0.5, 1), plain).loss).toBeCloseTo(-0.5, 12)
    expect(tokenLoss(atRatio(0.5, 1), plain).clipped).toBe(false)
  })

  // [OBJECTIVE-2]
  it('a negative advantage is clipped below, and above by the dual clip', () => {
    // A = −2, r = 0.5: max(1, 1.6) = 1.6; r = 2: max(4, 2.4) = 4; r = 5: min(10, 3·2) = 6
    expect(tokenLoss(atRatio(0.5, -2), plain).loss).toBeCloseTo(1.6, 12)
    expect(tokenLoss(atRatio(2, -2), plain).loss).toBeCloseTo(4, 12)
    expect(tokenLoss(atRatio(5, -2), plain).loss).toBeCloseTo(6, 12)
    expect(tokenLoss(atRatio(5, -2), plain)).toMatchObject({ derivative: 0, clipped: true })
    expect(tokenLoss(atRatio(5, -2), { ...plain, dualClip: Number.POSITIVE_INFINITY }).loss).toBeCloseTo(
      10,
      12,
    )
  })

  // [OBJECTIVE-1]
  it('the derivative is that of the loss, wherever the loss is smooth', () => {
    const objective = { ...plain, clipHigh: 0.28, klCoefficient: 0.3 }
    fc.assert(
      fc.property(logprob, logprob, logprob, advantage, (logp, behaviour, reference, value) => {
        fc.pre(awayFromKinks(Math.exp(logp - behaviour), objective))
        const token = { behaviourLogprob: behaviour, referenceLogprob: reference, advantage: value }
        const { derivative } = tokenLoss({ ...token, logprob: logp }, objective)
        const measured = slope((x) => tokenLoss({ ...token, logprob: x }, objective).loss, logp)
        expect(Math.abs(derivative - measured)).toBeLessThan(1e-5 * Math.max(1, Math.abs(measured)))
      }),
      { numRuns: 300 },
    )
  })

  it('the reference term adds β·k3 and the entropy bonus subtracts its share', () => {
    // log(reference/policy) = ln 2: k3 = 2 − 0.693147 − 1 = 0.306853; −1 + 0.1·0.306853 − 0.01·2 = −0.989315
    const token = { ...atRatio(1, 1), referenceLogprob: -1 + Math.LN2, entropy: 2 }
    const { loss } = tokenLoss(token, { ...plain, klCoefficient: 0.1, entropyCoefficient: 0.01 })
    expect(loss).toBeCloseTo(-0.989315, 6)
  })
})

describe('the loss of cispo', () => {
  const lossOf = (token: LossToken) => cispo.loss.lossesOf([token], plain)[0]

  // [CISPO-1]
  it('a token beyond the clip keeps its gradient with the clipped weight', () => {
    // r = 5 clipped to 1.2, A = −2: derivative 1.2 · 2 = 2.4, loss 2.4·logp
    const token = atRatio(5, -2)
    expect(lossOf(token)).toMatchObject({ clipped: true })
    expect(lossOf(token)?.derivative).toBeCloseTo(2.4, 12)
    expect(lossOf(token)?.loss).toBeCloseTo(2.4 * token.logprob, 12)
  })

  it('within the clip its derivative equals that of the token objective', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.81, max: 1.19, noNaN: true }), advantage, (ratio, value) => {
        const token = atRatio(ratio, value)
        expect(lossOf(token)?.derivative).toBeCloseTo(tokenLoss(token, plain).derivative, 10)
      }),
    )
  })
})

describe('the losses of gspo', () => {
  const sequence = fc.array(fc.tuple(logprob, logprob, advantage), { minLength: 1, maxLength: 6 })
  const tokensOf = (drawn: readonly (readonly [number, number, number])[]) =>
    drawn.map(([logp, behaviour, value]) => lossToken(logp, behaviour, value))
  const ratioOf = (tokens: readonly LossToken[]) =>
    Math.exp(tokens.reduce((sum, token) => sum + token.logprob - token.proximalLogprob, 0) / tokens.length)

  it('the ratio of a sequence is the geometric mean of its tokens, and each token keeps its own advantage', () => {
    // ratios 4 and 1: √(4·1) = 2, clipped to 1.2 for A = 1, free for A = −0.5
    const losses = gspo.loss.lossesOf(
      tokensOf([
        [Math.log(0.8), Math.log(0.2), 1],
        [-1, -1, -0.5],
      ]),
      plain,
    )
    expect(losses.map(({ clipped, derivative }) => [clipped, derivative])).toEqual([
      [true, 0],
      [false, expect.closeTo(1, 12)],
    ])
    expect(losses.map(({ loss }) => loss)).toEqual([expect.closeTo(-1.2, 12), expect.closeTo(1, 12)])
  })

  it('a sequence of one token has the loss of that token', () => {
    fc.assert(
      fc.property(logprob, logprob, advantage, (logp, behaviour, value) => {
        const token = lossToken(logp, behaviour, value)
        const { loss, derivative } = tokenLoss(token, { ...plain, dualClip: Number.POSITIVE_INFINITY })
        expect(gspo.loss.lossesOf([token], plain)).toEqual([expect.objectContaining({ loss, derivative })])
      }),
    )
  })

  // [OBJECTIVE-1]
  it('each derivative is that of the loss in which all other factors of the ratio are constant', () => {
    fc.assert(
      fc.property(sequence, (drawn) => {
        const tokens = tokensOf(drawn)
        const losses = gspo.loss.lossesOf(tokens, plain)
        const ratio = ratioOf(tokens)
        fc.pre(awayFromKinks(ratio, plain))
        for (const [at, { logprob: logp, advantage: value }] of tokens.entries()) {
          // s_t = sg(s) · π / sg(π), written down as in the paper.
          const lossAt = (x: number) => {
            const s = ratio * Math.exp(x - logp)
            return -Math.min(s * value, Math.min(Math.max(s, 0.8), 1.2) * value)
          }
          const measured = slope(lossAt, logp)
          expect(Math.abs((losses[at]?.derivative ?? Number.NaN) - measured)).toBeLessThan(
            1e-5 * Math.max(1, Math.abs(measured)),
          )
        }
      }),
    )
  })

  it('with one advantage for all tokens, the gradient is that of the mean loss of the sequence form', () => {
    fc.assert(
      fc.property(sequence, advantage, (drawn, value) => {
        const tokens = tokensOf(drawn).map((token) => ({ ...token, advantage: value }))
        const losses = gspo.loss.lossesOf(tokens, plain)
        fc.pre(awayFromKinks(ratioOf(tokens), plain))
        for (const [at, { logprob: logp }] of tokens.entries()) {
          const sequenceLossAt = (x: number) => {
            const sum = tokens.reduce(
              (total, token, place) => total + (place === at ? x : token.logprob) - token.behaviourLogprob,
              0,
            )
            const s = Math.exp(sum / tokens.length)
            return -Math.min(s * value, Math.min(Math.max(s, 0.8), 1.2) * value)
          }
          const measured = slope(sequenceLossAt, logp)
          expect(Math.abs((losses[at]?.derivative ?? Number.NaN) / tokens.length - measured)).toBeLessThan(
            1e-5 * Math.max(1, Math.abs(measured)),
          )
        }
      }),
    )
  })
})

describe('k3 and entropy', () => {
  it('k3() is zero at equal policies, positive elsewhere, and its derivative is its slope', () => {
    expect(k3(0)).toEqual({ value: 0, derivative: 0 })
    fc.assert(
      fc.property(fc.double({ min: -3, max: 3, noNaN: true }), (x) => {
        expect(k3(x).value).toBeGreaterThanOrEqual(0)
        expect(k3(x).derivative).toBeCloseTo(
          slope((y) => k3(y).value, x),
          5,
        )
      }),
    )
  })

  it('k3() is an unbiased estimate of the divergence', () => {
    // p = (0.5, 0.5), q = (0.9, 0.1): KL(p‖q) = 0.5 ln(0.5/0.9) + 0.5 ln(0.5/0.1) = 0.510826
    const expected = 0.5 * k3(Math.log(0.9 / 0.5)).value + 0.5 * k3(Math.log(0.1 / 0.5)).value
    expect(expected).toBeCloseTo(0.510826, 6)
  })

  it('boundedK3() is k3 up to a ratio of 2, and its tangent from there on', () => {
    // at ln 2: 2 − 0.693147 − 1 = 0.306853; at 15: 0.306853 + (15 − 0.693147) · 1 = 14.613706
    expect(boundedK3(0.5)).toEqual(k3(0.5))
    expect(boundedK3(-15)).toEqual(k3(-15))
    expect(boundedK3(Math.LN2).value).toBeCloseTo(0.306853, 6)
    expect(boundedK3(15).value).toBeCloseTo(14.613706, 6)
    expect(boundedK3(15).derivative).toBeCloseTo(1, 12)
  })

  // [OBJECTIVE-4]
  it('the reference term pulls at a token with β at most, whatever the reference says of it', () => {
    fc.assert(
      fc.property(logprob, fc.double({ min: -60, max: 60, noNaN: true }), (logp, away) => {
        const token = { logprob: logp, behaviourLogprob: logp, advantage: 0, referenceLogprob: logp + away }
        const { loss, derivative } = tokenLoss(token, { ...plain, klCoefficient: 0.3 })
        expect(Math.abs(derivative)).toBeLessThanOrEqual(0.3 * (1 + 1e-12))
        expect(loss).toBeGreaterThanOrEqual(0)
        expect(loss).toBeLessThanOrEqual(0.3 * Math.max(1, Math.abs(away)))
      }),
    )
  })

  it('entropyOf() is ln n for n equal logits, and its gradient is its slope', () => {
    expect(entropyOf([3, 3, 3, 3])).toBeCloseTo(Math.log(4), 12)
    const logits = [0.3, -1.2, 2, 0.7]
    for (const [at, derivative] of entropyGradient(logits).entries())
      expect(derivative).toBeCloseTo(
        slope((x) => entropyOf(logits.with(at, x)), logits[at] ?? 0),
        6,
      )
  })
})
