/**
 * A policy of a few numbers, for tests of what keeps, moves or examines checkpoints.
 */
import { type Architecture, elementCount, weightSpecs } from '../transformer/architecture.ts'

export const tinyArchitecture: Architecture = {
  vocab_size: 5,
  hidden_size: 4,
  intermediate_size: 6,
  num_hidden_layers: 1,
  num_attention_heads: 2,
  num_key_value_heads: 1,
  head_dim: 2,
  rope_theta: 10000,
  rms_norm_eps: 1e-6,
  tie_word_embeddings: false,
  max_position_embeddings: 32,
}

/** Weights, or moments of them. @param valueAt by the number of the tensor and of the element, both from 0 */
export function tinyWeights(valueAt: (tensor: number, element: number) => number): Map<string, Float32Array> {
  return new Map(
    weightSpecs(tinyArchitecture).map(({ name, shape }, tensor) => [
      name,
      Float32Array.from({ length: elementCount(shape) }, (_, element) => valueAt(tensor, element)),
    ]),
  )
}
