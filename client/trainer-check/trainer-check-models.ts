/** The small models on which a trainer's program is checked: the families of the field, and a padded vocabulary. */
import type { Architecture } from '../../policy/transformer/architecture.ts'

/** Settings that most updates share. */
export const architecture: Architecture = {
  vocab_size: 61,
  hidden_size: 32,
  intermediate_size: 48,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  head_dim: 8,
  rope_theta: 10000,
  rms_norm_eps: 1e-5,
  tie_word_embeddings: true,
  max_position_embeddings: 128,
}

/** Names the ids of the batch and one more, so that a vocabulary of 70 has a hole and a padded end. */
export const paddedTokenizer = JSON.stringify({
  model: {
    vocab: Object.fromEntries(
      [...Array(architecture.vocab_size).keys(), 65].map((id) => [`token ${id}`, id]),
    ),
  },
})

/** Models of the field in small: what each adds to the policy above. */
export const families: Readonly<Record<string, Architecture>> = {
  padded: { ...architecture, vocab_size: 70 },
  llama3: {
    ...architecture,
    tie_word_embeddings: false,
    rope_scaling: {
      rope_type: 'llama3',
      factor: 8,
      low_freq_factor: 1,
      high_freq_factor: 4,
      original_max_position_embeddings: 32,
    },
  },
  qwen2: {
    ...architecture,
    model_type: 'qwen2',
    rope_scaling: { rope_type: 'yarn', factor: 4, original_max_position_embeddings: 32, beta_fast: 4 },
  },
  qwen3: {
    ...architecture,
    model_type: 'qwen3',
    head_dim: 16,
    num_attention_heads: 2,
    num_key_value_heads: 1,
    tie_word_embeddings: false,
    rope_scaling: { rope_type: 'linear', factor: 2 },
    sliding_window: 64,
  },
}
