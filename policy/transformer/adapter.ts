/**
 * Low-rank adapters (LoRA, arXiv 2106.09685): a policy is its base with W + alpha/rank · B · A in the place of chosen matrices.
 *
 * Invariants
 * - [ADAPTER-1] Merging adds in double precision and rounds once; with B = 0 the merged weights are the base's own.
 * - [ADAPTER-2] Gradients are those of the merged weights by the chain rule: dA = s · Bᵀ · dW, dB = s · dW · Aᵀ.
 * - A fresh adapter has B = 0, so that it is the base; A is uniform, as PEFT draws it, and follows from seed and name alone.
 */
import { seedOf, uniforms } from '../../identity/identity.ts'
import type { AdapterTarget } from '../../learning/loss/adapter-targets.ts'
import {
  type Architecture,
  elementCount,
  type WeightSpec,
  type Weights,
  weightSpecs,
} from './architecture.ts'

/** Which adapters a policy has. */
export interface AdapterShape {
  readonly rank: number
  /** The factor of B · A, divided by the rank. */
  readonly alpha: number
  readonly targets: readonly AdapterTarget[]
}

/** A matrix of the base with its adapter, by name. */
interface AdaptedMatrix {
  readonly name: string
  readonly out: number
  readonly width: number
  /** Names of A [rank, width] and B [out, rank]. */
  readonly down: string
  readonly up: string
}

/** The matrices that an adapter changes, in the order of the weights. */
export function adaptedMatrices(
  architecture: Architecture,
  { targets }: Pick<AdapterShape, 'targets'>,
): readonly AdaptedMatrix[] {
  return weightSpecs(architecture).flatMap(({ name, shape: [out, width] }) => {
    const target = /\.(\w+)\.weight$/.exec(name)?.[1]
    const isTarget = targets.some((each) => each === target)
    if (!isTarget || out === undefined || width === undefined) return []
    const at = `base_model.model.${name.slice(0, -'.weight'.length)}`
    return [{ name, out, width, down: `${at}.lora_A.weight`, up: `${at}.lora_B.weight` }]
  })
}

/** The adapter's own weights, under PEFT's names. */
export function adapterSpecs(architecture: Architecture, shape: AdapterShape): readonly WeightSpec[] {
  return adaptedMatrices(architecture, shape).flatMap(({ out, width, down, up }) => [
    { name: down, shape: [shape.rank, width] },
    { name: up, shape: [out, shape.rank] },
  ])
}

/** A fresh adapter. @param seed 32 bits */
export function initialAdapter(
  architecture: Architecture,
  shape: AdapterShape,
  seed: number,
): Map<string, Float32Array> {
  return new Map(
    adapterSpecs(architecture, shape).map(({ name, shape: dims }) => {
      const values = new Float32Array(elementCount(dims))
      if (name.endsWith('.lora_B.weight')) return [name, values]
      const bound = 1 / Math.sqrt(dims[1] as number)
      const next = uniforms(seedOf(seed, 'adapter', name))
      return [name, values.map(() => bound * (2 * next() - 1))]
    }),
  )
}

/**
 * The weights of base and adapter together; those that have no adapter are the base's own arrays.
 * @param into arrays that take the changed weights; new ones by default
 */
export function mergedWeights(
  architecture: Architecture,
  base: Weights,
  { shape, weights }: { readonly shape: AdapterShape; readonly weights: Weights },
  into?: Weights,
): Map<string, Float32Array> {
  const merged = new Map(base)
  for (const matrix of adaptedMatrices(architecture, shape)) {
    const own = base.get(matrix.name) as Float32Array
    const target = into?.get(matrix.name) ?? new Float32Array(own.length)
    merge(target, own, weights.get(matrix.down) as Float32Array, weights.get(matrix.up) as Float32Array, {
      ...matrix,
      ...shape,
    })
    merged.set(matrix.name, target)
  }
  return merged
}

/** target = base + alpha/rank · up · down. */
function merge(
  target: Float32Array,
  base: Float32Array,
  down: Float32Array,
  up: Float32Array,
  { out, width, rank, alpha }: Pick<AdaptedMatrix, 'out' | 'width'> & Pick<AdapterShape, 'rank' | 'alpha'>,
): void {
  const sums = new Float64Array(width)
  for (let row = 0; row < out; row++) {
    sums.fill(0)
    for (let r = 0; r < rank; r++) {
      const factor = (alpha / rank) * up[row * rank + r]!
      for (let i = 0; i < width; i++) sums[i]! += factor * down[r * width + i]!
    }
    for (let i = 0; i < width; i++) target[row * width + i] = base[row * width + i]! + sums[i]!
  }
}

/**
 * Gradients of an adapter from those of the merged weights.
 * @param into arrays that take them, under the adapter's names
 */
export function adapterGradients(
  architecture: Architecture,
  { shape, weights }: { readonly shape: AdapterShape; readonly weights: Weights },
  merged: Weights,
  into: Weights,
): void {
  const { rank, alpha } = shape
  for (const { name, out, width, down, up } of adaptedMatrices(architecture, shape)) {
    const [a, b, whole] = [weights.get(down)!, weights.get(up)!, merged.get(name)!]
    const [ofA, ofB] = [into.get(down)!, into.get(up)!]
    for (let r = 0; r < rank; r++) {
      const sums = new Float64Array(width)
      for (let row = 0; row < out; row++) {
        const factor = b[row * rank + r]!
        let product = 0
        for (let i = 0; i < width; i++) {
          const gradient = whole[row * width + i]!
          sums[i]! += factor * gradient
          product += gradient * a[r * width + i]!
        }
        ofB[row * rank + r] = (alpha / rank) * product
      }
      for (let i = 0; i < width; i++) ofA[r * width + i] = (alpha / rank) * sums[i]!
    }
  }
}
