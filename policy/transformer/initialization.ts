/**
 * Weights of a fresh policy: normal, scaled by fan-in; norms at one.
 *
 * Invariants
 * - The same architecture and seed give the same bytes; a weight's values depend on its name, not on
 *   which others there are.
 */
import { seedOf, uniforms } from '../../identity/identity.ts'
import { type Architecture, elementCount, weightSpecs } from './architecture.ts'

/** Standard deviation of embedding rows: small, so that tied logits start near uniform. */
export const embeddingDeviation = 0.02

/**
 * Seeded weights. Matrices have deviation 1/√in; the two that write into the residual stream are divided
 * by √(2 · layers) more, so that the stream's variance does not grow with depth (Radford et al. 2019).
 * @param seed 32 bits
 */
export function initialWeights(architecture: Architecture, seed: number): Map<string, Float32Array> {
  const residual = 1 / Math.sqrt(2 * architecture.num_hidden_layers)
  return new Map(
    weightSpecs(architecture).map(({ name, shape }) => {
      const [, fanIn] = shape
      if (fanIn === undefined)
        return [name, new Float32Array(elementCount(shape)).fill(name.endsWith('.bias') ? 0 : 1)]
      const writesResidual = name.endsWith('o_proj.weight') || name.endsWith('down_proj.weight')
      const deviation = name.endsWith('embed_tokens.weight')
        ? embeddingDeviation
        : (writesResidual ? residual : 1) / Math.sqrt(fanIn)
      return [name, normals(elementCount(shape), deviation, seedOf(seed, 'weights', name))]
    }),
  )
}

/** Normal numbers by Box and Muller. */
function normals(count: number, deviation: number, seed: number): Float32Array {
  const next = uniforms(seed)
  const values = new Float32Array(count)
  for (let i = 0; i < count; i += 2) {
    const radius = deviation * Math.sqrt(-2 * Math.log(1 - next())) // 1 − u lies in (0, 1]
    const angle = 2 * Math.PI * next()
    values[i] = radius * Math.cos(angle)
    if (i + 1 < count) values[i + 1] = radius * Math.sin(angle)
  }
  return values
}
