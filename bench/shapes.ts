/** The two small policies that decoding and training are measured with. */
import type { Architecture } from '../policy/transformer/architecture.ts'

const d128: Architecture = {
  vocab_size: 512,
  hidden_size: 128,
  intermediate_size: 384,
  num_hidden_layers: 4,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  head_dim: 32,
  rope_theta: 10000,
  rms_norm_eps: 1e-5,
  tie_word_embeddings: true,
  max_position_embeddings: 1024,
}

const d256: Architecture = {
  ...d128,
  vocab_size: 4096,
  hidden_size: 256,
  intermediate_size: 768,
  num_hidden_layers: 6,
  num_attention_heads: 8,
}

/** By the names that their figures carry. */
export const shapes = { d128, d256 } as const
