/**
 * The architecture of a policy made from scratch, as its configuration names it.
 *
 * Invariants
 * - The head of the vocabulary shares the embedding; the width is divided evenly among the heads.
 */
import type { RunConfig } from '../../config/schema/schema.ts'
import type { Architecture } from '../../policy/transformer/architecture.ts'

/** @param vocabularySize tokens of the tokenizer, which may be fewer than were asked for */
export function freshArchitecture(policy: RunConfig['policy'], vocabularySize: number): Architecture {
  return {
    vocab_size: vocabularySize,
    hidden_size: policy.hiddenSize,
    intermediate_size: policy.intermediateSize,
    num_hidden_layers: policy.layers,
    num_attention_heads: policy.heads,
    num_key_value_heads: policy.keyValueHeads,
    head_dim: policy.hiddenSize / policy.heads,
    rope_theta: 10_000,
    rms_norm_eps: 1e-5,
    tie_word_embeddings: true,
    max_position_embeddings: policy.contextLength,
  }
}
