/**
 * Rotary position embedding, in the half-split form of Hugging Face's Llama: pair i of a head is
 * (x_i, x_{i + headDim/2}), turned by the angle position · θ^(−2i / headDim), scaled where the model says so.
 *
 * Invariants
 * - Angles are computed in double precision, so a long context loses none.
 */
import { type Graph, microsoft, type Value } from '../graph/graph.ts'
import type { Architecture, RopeScaling, YarnScaling } from './architecture.ts'

/** Cosines and sines per position, [positions, headDim / 2], row-major. */
export interface RotaryTables {
  readonly cosines: Float32Array
  readonly sines: Float32Array
  readonly negativeSines: Float32Array
}

/** Radians by position of each pair, before a model scales them; the first pair is the fastest. @returns [headDim / 2] */
export function rotarySpeeds({
  head_dim,
  rope_theta,
}: Pick<Architecture, 'head_dim' | 'rope_theta'>): readonly number[] {
  const half = head_dim / 2
  return Array.from({ length: half }, (_, pair) => rope_theta ** (-pair / half))
}

/** Tables for positions 0 … positions − 1. */
export function rotaryTables(
  architecture: Pick<Architecture, 'head_dim' | 'rope_theta' | 'rope_scaling'>,
  positions: number,
): RotaryTables {
  const { head_dim, rope_scaling } = architecture
  const half = head_dim / 2
  const cosines = new Float32Array(positions * half)
  const sines = new Float32Array(positions * half)
  const unscaled = rotarySpeeds(architecture)
  const speeds = rope_scaling === undefined ? unscaled : scaled(unscaled, architecture, rope_scaling)
  const size = rope_scaling?.rope_type === 'yarn' ? yarnSize(rope_scaling) : 1
  for (let position = 0; position < positions; position++) {
    for (let pair = 0; pair < half; pair++) {
      const angle = position * (speeds[pair] as number)
      cosines[position * half + pair] = size * Math.cos(angle)
      sines[position * half + pair] = size * Math.sin(angle)
    }
  }
  return { cosines, sines, negativeSines: sines.map((sine) => -sine) }
}

/**
 * Radians by position of each pair, scaled as transformers' rope utilities do. Where a pair is kept is its type's rule; the
 * others are divided by the factor, and it goes over evenly between them.
 */
function scaled(
  speeds: readonly number[],
  of: Pick<Architecture, 'head_dim' | 'rope_theta'>,
  scaling: RopeScaling,
): readonly number[] {
  const { factor } = scaling
  const kept = (speed: number, pair: number): number => {
    if (scaling.rope_type === 'linear') return 0
    return scaling.rope_type === 'yarn' ? yarnKept(pair, of, scaling) : llamaKept(speed, scaling)
  }
  return speeds.map((speed, pair) => {
    const share = kept(speed, pair)
    return (1 - share) * (speed / factor) + share * speed
  })
}

/** The share that `llama3` keeps: none below `low_freq_factor` turns in the first training's context, all above `high_freq_factor`. */
function llamaKept(speed: number, scaling: Extract<RopeScaling, { rope_type: 'llama3' }>): number {
  const { low_freq_factor: low, high_freq_factor: high, original_max_position_embeddings: context } = scaling
  const turns = (context * speed) / (2 * Math.PI)
  return Math.min(1, Math.max(0, (turns - low) / (high - low)))
}

/** The share that `yarn` keeps: a ramp over the pairs, from `beta_fast` turns in the first training's context to `beta_slow`. */
function yarnKept(
  pair: number,
  { head_dim, rope_theta }: Pick<Architecture, 'head_dim' | 'rope_theta'>,
  { original_max_position_embeddings: context, truncate = true, ...scaling }: YarnScaling,
): number {
  const pairOf = (turns: number): number =>
    (head_dim * Math.log(context / (turns * 2 * Math.PI))) / (2 * Math.log(rope_theta))
  const [fast, slow] = [pairOf(scaling.beta_fast ?? 32), pairOf(scaling.beta_slow ?? 1)]
  const low = Math.max(0, truncate ? Math.floor(fast) : fast)
  const high = Math.min(head_dim - 1, truncate ? Math.ceil(slow) : slow)
  return 1 - Math.min(1, Math.max(0, (pair - low) / (high === low ? 0.001 : high - low)))
}

/** YaRN's factor of queries and keys, which keeps attention as sharp over a longer context. */
function yarnSize({ factor, attention_factor, mscale, mscale_all_dim }: YarnScaling): number {
  const of = (scale: number): number => (factor <= 1 ? 1 : 0.1 * scale * Math.log(factor) + 1)
  if (attention_factor !== undefined) return attention_factor
  return mscale && mscale_all_dim ? of(mscale) / of(mscale_all_dim) : of(1)
}

/** The tables as inputs of a graph, [positions, headDim / 2] each. */
export interface RotaryInputs {
  readonly cosines: Value
  readonly sines: Value
  readonly negativeSines: Value
}

/**
 * Turns every head of x by its position; the gradient is turned back.
 * @param x [batch, time, heads · headDim], positions 0 … time − 1
 */
export function rotate(graph: Graph, x: Value, tables: RotaryInputs, heads: number): Value {
  const options = { attributes: { num_heads: heads }, domain: microsoft }
  const first = graph.integers(0)
  const y = graph.operation('RotaryEmbedding', [x, first, tables.cosines, tables.sines], x.dims, options)
  graph.record([y], [x], ([gradient]) => [
    graph.operation(
      'RotaryEmbedding',
      [gradient, first, tables.cosines, tables.negativeSines],
      x.dims,
      options,
    ),
  ])
  return y
}
