/**
 * Weights for tests: far from a fresh policy's, so that every weight and every position matters.
 *
 * Invariants
 * - The same uniforms give the same weights.
 */
import { type Architecture, elementCount, type Weights, weightSpecs } from '../transformer/architecture.ts'

/** Uniform weights around 0, norms around 1. @param uniform numbers in [0, 1) */
export function randomWeights(a: Architecture, uniform: () => number): Weights {
  return new Map(
    weightSpecs(a).map(({ name, shape }) => {
      const [, fanIn] = shape
      const [middle, spread] = fanIn === undefined ? [1, 0.1] : [0, 1.5 / Math.sqrt(fanIn)]
      return [
        name,
        Float32Array.from({ length: elementCount(shape) }, () => middle + (2 * uniform() - 1) * spread),
      ]
    }),
  )
}
