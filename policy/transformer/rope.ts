/**
 * Rotary position embedding, in the half-split form of Hugging Face's Llama: pair i of a head is
 * (x_i, x_{i + headDim/2}), turned by the angle position · θ^(−2i / headDim).
 *
 * Invariants
 * - Angles are computed in double precision, so a long context loses none.
 */
import { type Graph, microsoft, type Value } from '../graph/graph.ts'
import type { Architecture } from './architecture.ts'

/** Cosines and sines per position, [positions, headDim / 2], row-major. */
export interface RotaryTables {
  readonly cosines: Float32Array
  readonly sines: Float32Array
  readonly negativeSines: Float32Array
}

/** Tables for positions 0 … positions − 1. */
export function rotaryTables(
  architecture: Pick<Architecture, 'head_dim' | 'rope_theta'>,
  positions: number,
): RotaryTables {
  const half = architecture.head_dim / 2
  const cosines = new Float32Array(positions * half)
  const sines = new Float32Array(positions * half)
  for (let position = 0; position < positions; position++) {
    for (let pair = 0; pair < half; pair++) {
      const angle = position * architecture.rope_theta ** (-pair / half)
      cosines[position * half + pair] = Math.cos(angle)
      sines[position * half + pair] = Math.sin(angle)
    }
  }
  return { cosines, sines, negativeSines: sines.map((sine) => -sine) }
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
