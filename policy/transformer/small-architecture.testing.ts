/** The shape of a policy for tests: small, with keys and values that heads share. */
import type { Architecture } from './architecture.ts'

export const smallArchitecture: Architecture = {
  vocab_size: 23,
  hidden_size: 16,
  intermediate_size: 24,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  head_dim: 4,
  rope_theta: 10000,
  rms_norm_eps: 1e-5,
  tie_word_embeddings: true,
  max_position_embeddings: 64,
}
