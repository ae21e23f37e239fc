import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { uniforms } from '../../identity/identity.ts'
import { dropBounds, hasFallen, type Trials } from './gate.ts'
import { judgedFigure } from './judgement.ts'
import { measureFigures } from './measure.ts'

const trials = fc.integer({ min: 1, max: 500 }).chain((instances) =>
  fc.record({
    instances: fc.constant(instances),
    success: fc.nat(instances).map((won) => won / instances),
  }),
)

describe('hasFallen', () => {
  // 80 of 100 before, 50 of 100 after, one-sided 95 %: z = 1.6449, z² = 2.7055.
  // Wilson of 80/100: centre (0.8 + 0.013528)/1.027055 = 0.79210,
  //   spread 1.6449·√(0.8·0.2/100 + 2.7055/40000)/1.027055 = 0.06540: low 0.72670.
  // Wilson of 50/100: centre 0.5, spread 1.6449·√(0.0025 + 0.0000676)/1.027055 = 0.08115: high 0.58115.
  // Newcombe: 0.3 − √((0.8 − 0.72670)² + (0.58115 − 0.5)²) = 0.3 − 0.10936 = 0.19064.
  const before = { success: 0.8, instances: 100 }
  const after = { success: 0.5, instances: 100 }

  it('closes where the drop is certain enough, and not where it is not', () => {
    expect(hasFallen(before, after, { drop: 0.19, confidence: 0.95 })).toBe(true)
    expect(hasFallen(before, after, { drop: 0.192, confidence: 0.95 })).toBe(false)
  })

  it('does not close on few episodes', () => {
    // 8 of 10 against 5 of 10 is the same drop, but its lower bound is below 0.
    const few = [8, 5].map((won) => ({ success: won / 10, instances: 10 })) as [Trials, Trials]
    expect(hasFallen(...few, { drop: 0, confidence: 0.95 })).toBe(false)
  })

  it('never closes on a policy that did as well or better', () => {
    fc.assert(
      fc.property(trials, trials, (a: Trials, b: Trials) => {
        const [worse, better] = a.success <= b.success ? [a, b] : [b, a]
        expect(hasFallen(worse, better, { drop: 0, confidence: 0.6 })).toBe(false)
      }),
      { numRuns: 60 },
    )
  })

  it('more confidence or a larger drop asked for never closes it earlier', () => {
    fc.assert(
      fc.property(trials, trials, (a: Trials, b: Trials) => {
        const loose = hasFallen(a, b, { drop: 0.05, confidence: 0.8 })
        if (!loose) {
          expect(hasFallen(a, b, { drop: 0.05, confidence: 0.95 })).toBe(false)
          expect(hasFallen(a, b, { drop: 0.2, confidence: 0.8 })).toBe(false)
        }
      }),
      { numRuns: 60 },
    )
  })
})

describe('the gate of a mean', () => {
  const mean = (
    value: number,
    {
      better = 'higher',
      half = 0.196,
      instances = 10,
    }: { better?: 'higher' | 'lower'; half?: number; instances?: number },
  ): Trials => ({
    ...{ success: 1, instances },
    measured: { of: 'reward', better, value, low: value - half, high: value + half },
  })
  const loss = (before: Trials, after: Trials) => {
    const closes = (drop: number) => hasFallen(before, after, { drop, confidence: 0.95 })
    let [low, high] = [0, 10]
    for (let i = 0; i < 50; i++)
      [low, high] = closes((low + high) / 2) ? [(low + high) / 2, high] : [low, (low + high) / 2]
    return low
  }

  // Each interval is ± 0.196, so each standard error 0.1, and √(10/9) · 0.1 = 0.10541 without the bias of a bootstrap over ten.
  // Student's t of 0.95 with 9 degrees of freedom is 1.83311: 1 − √2 · 0.10541 · 1.83311 = 1 − 0.27327 = 0.72673.
  it('closes on a drop beyond chance, in the direction of its measure, though every episode succeeds', () => {
    expect(loss(mean(3, {}), mean(2, {}))).toBeCloseTo(0.72673, 4)
    expect(loss(mean(2, { better: 'lower' }), mean(3, { better: 'lower' }))).toBeCloseTo(0.72673, 4)
    expect(hasFallen(mean(2, {}), mean(3, {}), { drop: 0, confidence: 0.6 })).toBe(false)
    const fewerTurns = [mean(3, { better: 'lower' }), mean(2, { better: 'lower' })] as const
    expect(hasFallen(...fewerTurns, { drop: 0, confidence: 0.6 })).toBe(false)
  })

  it('does not close by one instance, whose spread is unknown [GATE-1]', () => {
    const [three, two] = [3, 2].map((value) => mean(value, { half: 0, instances: 1 })) as [Trials, Trials]
    expect(hasFallen(three, two, { drop: 0, confidence: 0.51 })).toBe(false)
  })

  // Two samples of the same policy, 20 instances of a skewed reward each: at a confidence of 0.95 at most one gate in twenty closes.
  it('closes on chance no more often than its confidence allows', () => {
    const uniform = uniforms(7)
    const measure = (seed: number): Trials => {
      const instances = Array.from({ length: 20 }, () => {
        const reward = uniform() ** 3
        return [{ ...{ success: true, turns: 1, actionTokens: 1 }, reward }]
      })
      const measured = judgedFigure('reward', measureFigures(instances, seed))
      return { success: 1, instances: 20, ...(measured && { measured }) }
    }
    const rounds = 400
    let closed = 0
    for (let round = 0; round < rounds; round++)
      if (hasFallen(measure(2 * round), measure(2 * round + 1), { drop: 0, confidence: 0.95 })) closed += 1
    // Three standard errors of a share of one in twenty: 3 · √(0.05 · 0.95 / 400) = 0.033.
    expect(closed / rounds).toBeLessThan(0.05 + 0.033)
    expect(closed).toBeGreaterThan(0)
  })
})

it('a drop of success is a share, one of another measure is in its unit', () => {
  expect(dropBounds('success')).toEqual({ atLeast: 0, below: 1 })
  expect(dropBounds('turns')).toEqual({ atLeast: 0 })
})
