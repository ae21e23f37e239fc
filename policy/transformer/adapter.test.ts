import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { uniforms } from '../../identity/identity.ts'
import { adapterTargets } from '../../learning/loss/adapter-targets.ts'
import { tinyArchitecture, tinyWeights } from '../checkpoints/policy.testing.ts'
import {
  type AdapterShape,
  adaptedMatrices,
  adapterGradients,
  adapterSpecs,
  initialAdapter,
  mergedWeights,
} from './adapter.ts'
import { elementCount } from './architecture.ts'

const base = tinyWeights((tensor, element) => Math.sin(tensor * 31 + element))

/** Numbers between −1 and 1 for each of the adapter's weights. */
function drawnAdapter(shape: AdapterShape, seed: number): Map<string, Float32Array> {
  const next = uniforms(seed)
  return new Map(
    adapterSpecs(tinyArchitecture, shape).map(({ name, shape: dims }) => [
      name,
      Float32Array.from({ length: elementCount(dims) }, () => 2 * next() - 1),
    ]),
  )
}

const shapes = fc.record({
  rank: fc.integer({ min: 1, max: 4 }),
  alpha: fc.integer({ min: 1, max: 8 }),
  targets: fc.uniqueArray(fc.constantFrom(...adapterTargets), { minLength: 1 }),
})

describe('an adapter', () => {
  it('has the names and shapes that PEFT gives it', () => {
    const specs = adapterSpecs(tinyArchitecture, { rank: 3, alpha: 6, targets: ['k_proj', 'down_proj'] })
    const at = 'base_model.model.model.layers.0'
    expect(specs).toEqual([
      { name: `${at}.self_attn.k_proj.lora_A.weight`, shape: [3, 4] },
      { name: `${at}.self_attn.k_proj.lora_B.weight`, shape: [2, 3] },
      { name: `${at}.mlp.down_proj.lora_A.weight`, shape: [3, 6] },
      { name: `${at}.mlp.down_proj.lora_B.weight`, shape: [4, 3] },
    ])
  })

  it('adds alpha/rank · B · A to its matrix and to no other', () => {
    const shape: AdapterShape = { rank: 1, alpha: 2, targets: ['v_proj'] }
    const [matrix] = adaptedMatrices(tinyArchitecture, shape)
    const weights = new Map([
      [matrix?.down ?? '', Float32Array.of(1, 2, 3, 4)],
      [matrix?.up ?? '', Float32Array.of(1, -1)],
    ])
    const zero = new Map([...base].map(([name, { length }]) => [name, new Float32Array(length)]))
    const merged = mergedWeights(tinyArchitecture, zero, { shape, weights })
    // 2/1 · [1, −1]ᵀ · [1, 2, 3, 4]
    expect([...(merged.get(matrix?.name ?? '') ?? [])]).toEqual([2, 4, 6, 8, -2, -4, -6, -8])
    for (const [name, weight] of merged) if (name !== matrix?.name) expect(weight).toBe(zero.get(name))
  })

  // [ADAPTER-1]
  it('is its base when it is fresh, to the bit', () => {
    fc.assert(
      fc.property(shapes, fc.nat(), (shape, seed) => {
        const weights = initialAdapter(tinyArchitecture, shape, seed)
        expect(mergedWeights(tinyArchitecture, base, { shape, weights })).toEqual(base)
        for (const { down, width } of adaptedMatrices(tinyArchitecture, shape)) {
          const largest = Math.max(...(weights.get(down) ?? []).map(Math.abs))
          expect(largest).toBeGreaterThan(0)
          expect(largest).toBeLessThanOrEqual(1 / Math.sqrt(width))
        }
      }),
      { numRuns: 30 },
    )
  })

  // [ADAPTER-2]
  it('has the gradients that finite differences of a function of the merged weights give', () => {
    /** Σ sin(w) over the merged weights, whose gradient is cos(w). */
    const sumOf = (shape: AdapterShape, weights: ReadonlyMap<string, Float32Array>): number => {
      let sum = 0
      for (const weight of mergedWeights(tinyArchitecture, base, { shape, weights }).values())
        for (const w of weight) sum += Math.sin(w)
      return sum
    }
    fc.assert(
      fc.property(shapes, fc.nat(), fc.nat(), (shape, seed, at) => {
        const weights = drawnAdapter(shape, seed)
        const merged = mergedWeights(tinyArchitecture, base, { shape, weights })
        const ofMerged = new Map([...merged].map(([name, weight]) => [name, weight.map(Math.cos)]))
        const found = new Map([...weights].map(([name, { length }]) => [name, new Float32Array(length)]))
        adapterGradients(tinyArchitecture, { shape, weights }, ofMerged, found)
        for (const [name, weight] of weights) {
          const place = at % weight.length
          const moved = (step: number) =>
            sumOf(shape, new Map(weights).set(name, weight.with(place, (weight[place] ?? 0) + step)))
          const difference = (moved(2 ** -6) - moved(-(2 ** -6))) / 2 ** -5
          expect(Math.abs(difference - (found.get(name)?.[place] ?? Number.NaN))).toBeLessThan(
            5e-3 * (1 + shape.alpha ** 3),
          )
        }
      }),
      { numRuns: 40 },
    )
  })
})
