/**
 * Architecture of the policy: a Llama-style decoder, named as in Hugging Face's `config.json`.
 *
 * Invariants
 * - Every weight has the name and layout that Hugging Face gives it, so that real checkpoints load.
 */

/** The keys of `config.json` that define the model. */
export interface Architecture {
  readonly vocab_size: number
  readonly hidden_size: number
  readonly intermediate_size: number
  readonly num_hidden_layers: number
  readonly num_attention_heads: number
  readonly num_key_value_heads: number
  readonly head_dim: number
  readonly rope_theta: number
  readonly rms_norm_eps: number
  readonly tie_word_embeddings: boolean
  readonly max_position_embeddings: number
}

/** A weight: Hugging Face name and shape, `[out, in]` for matrices. */
export interface WeightSpec {
  readonly name: string
  readonly shape: readonly number[]
}

/** Number of elements of a shape. */
export function elementCount(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1)
}

/** All weights in the order of the checkpoint file. */
export function weightSpecs(a: Architecture): readonly WeightSpec[] {
  const { hidden_size: d, intermediate_size: f, head_dim: h } = a
  const q = a.num_attention_heads * h
  const kv = a.num_key_value_heads * h
  const specs: WeightSpec[] = [{ name: 'model.embed_tokens.weight', shape: [a.vocab_size, d] }]
  for (let layer = 0; layer < a.num_hidden_layers; layer++) {
    const at = `model.layers.${layer}`
    specs.push(
      { name: `${at}.input_layernorm.weight`, shape: [d] },
      { name: `${at}.self_attn.q_proj.weight`, shape: [q, d] },
      { name: `${at}.self_attn.k_proj.weight`, shape: [kv, d] },
      { name: `${at}.self_attn.v_proj.weight`, shape: [kv, d] },
      { name: `${at}.self_attn.o_proj.weight`, shape: [d, q] },
      { name: `${at}.post_attention_layernorm.weight`, shape: [d] },
      { name: `${at}.mlp.gate_proj.weight`, shape: [f, d] },
      { name: `${at}.mlp.up_proj.weight`, shape: [f, d] },
      { name: `${at}.mlp.down_proj.weight`, shape: [d, f] },
    )
  }
  specs.push({ name: 'model.norm.weight', shape: [d] })
  if (!a.tie_word_embeddings) specs.push({ name: 'lm_head.weight', shape: [a.vocab_size, d] })
  return specs
}

/** Weights by name, Float32, row-major. */
export type Weights = ReadonlyMap<string, Float32Array>
