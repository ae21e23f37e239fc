import { describe, expect, test } from 'vitest'
import { uniforms } from '../../../identity/identity.ts'
import { shared } from './gradient-sum.ts'
import { PolicyGraphs } from './policy-graphs.ts'
import { performTask } from './weight-task.ts'

const settings = {
  learningRate: 0.1,
  beta1: 0.9,
  beta2: 0.99,
  epsilon: 1e-8,
  weightDecay: 0.5,
  gradientClip: 1,
}

test('sums of threads are added to the first, and the squares are those of the whole', () => {
  const sums = { whole: Float32Array.of(1, 2), others: [Float32Array.of(2, 0), Float32Array.of(0, 2)] }
  // 3² + 4²
  expect(performTask({ task: 'add', sums: [sums] })).toEqual([25])
  expect(sums.whole).toEqual(Float32Array.of(3, 4))
})

describe('a step', () => {
  /** Weights of which most are large enough that threads share them. */
  function weights() {
    const next = uniforms(1)
    const array = (length: number): Float32Array => shared(Float32Array.from({ length }, () => next()))
    return [5, 100_000, 70_000, 3, 60_000].map((length, at) => ({
      weight: array(length),
      gradient: array(length),
      first: array(length),
      second: array(length),
      isMatrix: at % 2 === 0,
    }))
  }

  test('gives the same bytes however many threads share it [PARTS-1]', async () => {
    const course = { settings, learningRate: 0.1, step: 3, scale: 0.5 }
    const alone = weights()
    performTask({ task: 'step', weights: alone, course })
    for (const threads of [1, 2, 3]) {
      const graphs = new PolicyGraphs(threads)
      const among = weights()
      await graphs.step(among, course)
      await graphs.release()
      expect(among).toEqual(alone)
    }
  })
})
