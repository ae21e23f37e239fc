/**
 * Architecture of the policy: a Llama-style decoder, named as in Hugging Face's `config.json`.
 *
 * Invariants
 * - Every weight has the name and layout that Hugging Face gives it, so that real checkpoints load.
 */

import type { IdRange } from '../tokenizer/tokenless-ids.ts'

/**
 * Differences of a family from the Llama decoder: Qwen2 adds biases to queries, keys and values, Qwen3 a norm to each head's
 * queries and keys before they are turned.
 */
export const families = ['llama', 'qwen2', 'qwen3'] as const
export type Family = (typeof families)[number]

/** How the angles of rotary positions are stretched for contexts longer than those of the first training. */
export type RopeScaling =
  | { readonly rope_type: 'linear'; readonly factor: number }
  | {
      readonly rope_type: 'llama3'
      readonly factor: number
      readonly low_freq_factor: number
      readonly high_freq_factor: number
      readonly original_max_position_embeddings: number
    }
  | YarnScaling

/** YaRN (arXiv 2309.00071), with the names and defaults that transformers gives its settings. */
export interface YarnScaling {
  readonly rope_type: 'yarn'
  readonly factor: number
  readonly original_max_position_embeddings: number
  readonly attention_factor?: number | undefined
  readonly beta_fast?: number | undefined
  readonly beta_slow?: number | undefined
  readonly mscale?: number | undefined
  readonly mscale_all_dim?: number | undefined
  readonly truncate?: boolean | undefined
}

/** The keys of `config.json` that define the model. */
export interface Architecture {
  /** Llama by default. */
  readonly model_type?: Family
  readonly vocab_size: number
  readonly hidden_size: number
  readonly intermediate_size: number
  readonly num_hidden_layers: number
  readonly num_attention_heads: number
  readonly num_key_value_heads: number
  readonly head_dim: number
  readonly rope_theta: number
  readonly rope_scaling?: RopeScaling
  readonly rms_norm_eps: number
  readonly tie_word_embeddings: boolean
  readonly max_position_embeddings: number
  /** The model attends to so many tokens at most; contexts are no longer, so that attention reaches everything. */
  readonly sliding_window?: number
  /** Ids that no token of its tokenizer has, which are never sampled; of `tokenizer.json`, never written. Absent: none. */
  readonly tokenless?: readonly IdRange[]
}

/** Why contexts of a length are beyond what the architecture computes; undefined where they are not. */
export function beyondWindow(
  { sliding_window: window }: Pick<Architecture, 'sliding_window'>,
  length: number,
): string | undefined {
  return window === undefined || length <= window
    ? undefined
    : `the model attends to the last ${window} tokens alone, and ${length} are asked for`
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

/** Places of a head are a multiple of this where actions are sampled: the runtime's attention rotates no others. */
export const headMultiple = 16

/** Whether queries, keys and values have biases. */
export function hasBiases({ model_type }: Pick<Architecture, 'model_type'>): boolean {
  return model_type === 'qwen2'
}

/** Whether each head's queries and keys are normalized. */
export function hasHeadNorms({ model_type }: Pick<Architecture, 'model_type'>): boolean {
  return model_type === 'qwen3'
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
      ...(hasBiases(a)
        ? [
            { name: `${at}.self_attn.q_proj.bias`, shape: [q] },
            { name: `${at}.self_attn.k_proj.bias`, shape: [kv] },
            { name: `${at}.self_attn.v_proj.bias`, shape: [kv] },
          ]
        : []),
      ...(hasHeadNorms(a)
        ? [
            { name: `${at}.self_attn.q_norm.weight`, shape: [h] },
            { name: `${at}.self_attn.k_norm.weight`, shape: [h] },
          ]
        : []),
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
