import { describe, expect, test } from 'vitest'
import { beyondWindow } from '../transformer/architecture.ts'
import { parseArchitecture, renderArchitecture } from './architecture-config.ts'

const minimal = {
  vocab_size: 100,
  hidden_size: 64,
  intermediate_size: 128,
  num_hidden_layers: 2,
  num_attention_heads: 4,
}
const read = (config: object) => parseArchitecture(JSON.stringify(config), 'config.json')

describe('parseArchitecture', () => {
  test('fills in the defaults of LlamaConfig', () => {
    expect(read(minimal)).toEqual({
      ...minimal,
      num_key_value_heads: 4,
      head_dim: 16,
      rope_theta: 10000,
      rms_norm_eps: 1e-6,
      tie_word_embeddings: false,
      max_position_embeddings: 2048,
    })
  })

  test('reads a configuration with the keys of SmolLM2-135M', () => {
    const architecture = read({
      architectures: ['LlamaForCausalLM'],
      attention_bias: false,
      hidden_act: 'silu',
      hidden_size: 576,
      intermediate_size: 1536,
      is_llama_config: true,
      max_position_embeddings: 8192,
      mlp_bias: false,
      model_type: 'llama',
      num_attention_heads: 9,
      num_hidden_layers: 30,
      num_key_value_heads: 3,
      pretraining_tp: 1,
      rms_norm_eps: 1e-5,
      rope_interleaved: false,
      rope_scaling: null,
      rope_theta: 100000,
      tie_word_embeddings: true,
      vocab_size: 49152,
    })
    expect(architecture).toMatchObject({
      num_key_value_heads: 3,
      head_dim: 64,
      rope_theta: 100000,
      tie_word_embeddings: true,
    })
  })

  test('rope_theta is found under rope_parameters too', () => {
    expect(read({ ...minimal, rope_parameters: { rope_theta: 5e5, rope_type: 'default' } }).rope_theta).toBe(
      5e5,
    )
  })

  // [ARCHITECTURE-1]
  test.each<[string, object, string]>([
    [
      'scaled positions',
      { rope_scaling: { rope_type: 'llama3', factor: 8 } },
      'rope_scaling.low_freq_factor',
    ],
    ['scaled positions by the old key', { rope_scaling: { type: 'dynamic', factor: 2 } }, '"dynamic"'],
    [
      'scaled positions by the new key',
      { rope_parameters: { rope_type: 'longrope' } },
      'rope_parameters.rope_type',
    ],
    [
      'positions scaled by YaRN without its context',
      { rope_scaling: { type: 'yarn', factor: 4 } },
      'rope_scaling.original_max_position_embeddings',
    ],
    ['partial positions', { partial_rotary_factor: 0.5 }, 'partial_rotary_factor is 0.5'],
    ['attention biases', { attention_bias: true }, 'attention_bias is true'],
    ['biases of the feed-forward part', { mlp_bias: true }, 'mlp_bias is true'],
    ['another activation', { hidden_act: 'gelu' }, 'hidden_act is "gelu"'],
    ['another family', { model_type: 'gemma' }, 'model_type is "gemma"'],
    ['norms of odd heads', { model_type: 'qwen3', head_dim: 24 }, 'head_dim 24 is no multiple of 16'],
  ])('%s are refused by key and value', (_, extra, message) => {
    expect(() => read({ ...minimal, ...extra })).toThrow(
      expect.objectContaining({ kind: 'foreign', message: expect.stringContaining(message) }),
    )
  })

  test.each<[object, number | undefined]>([
    [{ model_type: 'mistral', sliding_window: 64 }, 64],
    [{ model_type: 'mistral', sliding_window: null }, undefined],
    // The reading of Mistral's class of transformers.
    [{ model_type: 'mistral' }, 4096],
    [{ model_type: 'llama', sliding_window: 64 }, undefined],
    [{ model_type: 'qwen2', sliding_window: 64, use_sliding_window: false }, undefined],
    [{ model_type: 'qwen2', sliding_window: 64, use_sliding_window: true }, 64],
  ])('a sliding window is kept where the family uses it: %j', (extra, window) => {
    const architecture = read({ ...minimal, ...extra })
    expect(architecture.sliding_window).toBe(window)
    expect(beyondWindow(architecture, 64)).toBeUndefined()
    expect(beyondWindow(architecture, 5000)).toEqual(
      window === undefined ? undefined : expect.stringContaining(`the last ${window} tokens alone`),
    )
  })

  test.each<[string, object, string]>([
    ['a missing key', { vocab_size: undefined }, 'config.json: vocab_size'],
    ['a wrong type', { hidden_size: '64' }, 'config.json: hidden_size'],
    [
      'heads that do not divide the width',
      { num_attention_heads: 5 },
      'no multiple of num_attention_heads 5',
    ],
    ['key heads that do not divide the heads', { num_key_value_heads: 3 }, 'num_key_value_heads 3'],
  ])('%s is refused by name', (_, extra, message) => {
    expect(() => read({ ...minimal, ...extra })).toThrow(
      expect.objectContaining({ kind: 'corrupt', message: expect.stringContaining(message) }),
    )
  })

  // [ARCHITECTURE-2]
  test('what is written is read back as the same architecture', () => {
    const architecture = read({ ...minimal, head_dim: 32, num_key_value_heads: 2, tie_word_embeddings: true })
    expect(parseArchitecture(renderArchitecture(architecture), 'config.json')).toEqual(architecture)
    for (const extra of [
      { model_type: 'qwen2', sliding_window: 32768, use_sliding_window: false },
      { model_type: 'qwen3', rope_scaling: { type: 'linear', factor: 2 } },
      { model_type: 'qwen2', sliding_window: 64, use_sliding_window: true },
      {
        model_type: 'qwen2',
        rope_scaling: { type: 'yarn', factor: 4, original_max_position_embeddings: 32768, mscale: null },
      },
    ]) {
      const other = read({ ...minimal, ...extra })
      expect(other.model_type).toBe(extra.model_type)
      expect(parseArchitecture(renderArchitecture(other), 'config.json')).toEqual(other)
    }
    const windowed = read({ ...minimal, model_type: 'mistral', sliding_window: 64 })
    expect(JSON.parse(renderArchitecture(windowed))).toMatchObject({ architectures: ['MistralForCausalLM'] })
    expect(parseArchitecture(renderArchitecture(windowed), 'config.json')).toEqual(windowed)
  })
})
