import { describe, expect, test } from 'vitest'
import { adamwStep, normOf, squares } from './adamw.ts'
import { learningRateAt, stepPlan } from './warm-start.ts'

const settings = {
  learningRate: 0.1,
  beta1: 0.9,
  beta2: 0.99,
  epsilon: 1e-8,
  weightDecay: 0.5,
  gradientClip: 1,
}

function weightOf(isMatrix: boolean) {
  return {
    weight: Float32Array.of(1),
    gradient: Float32Array.of(4),
    first: Float32Array.of(0),
    second: Float32Array.of(0),
    isMatrix,
  }
}

describe('adamwStep', () => {
  test('the first step moves by the learning rate against the sign of the gradient', () => {
    const given = weightOf(false)
    adamwStep(given, settings, 0.1, 1, 1)
    // m̂ = g and v̂ = g² after one step, so w = 1 − 0.1 · 4/√16
    expect(given.weight[0]).toBeCloseTo(0.9, 6)
    expect(given.first[0]).toBeCloseTo(0.4, 6)
    expect(given.second[0]).toBeCloseTo(0.16, 6)
  })

  test('the second step follows the corrected moments', () => {
    const given = weightOf(false)
    adamwStep(given, settings, 0.1, 1, 1)
    given.gradient[0] = -2
    adamwStep(given, settings, 0.1, 2, 1)
    // m = 0.9·0.4 − 0.1·2 = 0.16, m̂ = 0.16/0.19; v = 0.99·0.16 + 0.01·4 = 0.1984, v̂ = 0.1984/0.0199
    expect(given.weight[0]).toBeCloseTo(0.9 - (0.1 * (0.16 / 0.19)) / Math.sqrt(0.1984 / 0.0199), 6)
  })

  test('weight decay acts on matrices only', () => {
    const matrix = weightOf(true)
    const norm = weightOf(false)
    adamwStep(matrix, settings, 0.1, 1, 1)
    adamwStep(norm, settings, 0.1, 1, 1)
    expect((norm.weight[0] as number) - (matrix.weight[0] as number)).toBeCloseTo(0.1 * 0.5, 6)
  })

  test('the scale of a clipped gradient enters both moments', () => {
    const given = weightOf(false)
    adamwStep(given, settings, 0.1, 1, 0.25)
    expect(given.first[0]).toBeCloseTo(0.1, 6)
    expect(given.second[0]).toBeCloseTo(0.01, 6)
  })
})

test('the norm is taken over all weights together', () => {
  const gradients = new Map([
    ['a', Float32Array.of(3, 0)],
    ['b', Float32Array.of(4)],
  ])
  expect(normOf([...gradients.values()].map(squares))).toBe(5)
})

describe('learningRateAt', () => {
  const course = { totalSteps: 12, warmUpSteps: 2, optimizer: { learningRate: 1 } }

  test('the learning rate rises on a line and falls as a cosine to a tenth', () => {
    expect(learningRateAt(0, course)).toBe(0.5)
    expect(learningRateAt(1, course)).toBe(1)
    expect(learningRateAt(2, course)).toBe(1)
    expect(learningRateAt(11, course)).toBeCloseTo(0.1, 10)
    const rates = Array.from({ length: 10 }, (_, i) => learningRateAt(2 + i, course))
    expect(rates).toEqual(rates.toSorted((a, b) => b - a))
  })

  test('a warm start of one step has a learning rate', () => {
    expect(learningRateAt(0, { ...course, totalSteps: 1, warmUpSteps: 0 })).toBe(1)
  })
})

describe('stepPlan', () => {
  // Six demonstrations of 4 tokens, of which the last counts: 3 are fed. One has no counted token.
  const lossMask = Uint8Array.from({ length: 28 }, (_, i) => (i % 4 === 3 && i < 24 ? 1 : 0))
  const batch = { offsets: Int32Array.from({ length: 8 }, (_, i) => 4 * i), lossMask }

  test('every demonstration is seen once before any is seen again', () => {
    const plan = stepPlan(batch, 5, 1, 6)
    expect(plan.map((step) => step.length)).toEqual([2, 2, 2, 2, 2, 2])
    for (const pass of [plan.slice(0, 3), plan.slice(3)])
      expect(pass.flat().toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5])
  })

  test('a step takes the same demonstrations whichever chunk asks', () => {
    expect(stepPlan(batch, 7, 1, 3)).toEqual(stepPlan(batch, 7, 1, 9).slice(0, 3))
  })

  test('another seed gives another order', () => {
    expect(stepPlan(batch, 5, 1, 3)).not.toEqual(stepPlan(batch, 5, 2, 3))
  })

  test('demonstrations without counted tokens are refused', () => {
    expect(() => stepPlan({ ...batch, lossMask: new Uint8Array(28) }, 5, 1, 1)).toThrow('nothing to imitate')
  })
})
