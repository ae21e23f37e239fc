/**
 * Small models of each family, and the logprobs that transformers 5.23.0 gives their texts (PyTorch, Float32).
 *
 * Weights follow from a formula of their names (`formulaWeights`), so that none is stored. A config.json is given as
 * transformers writes it, without the keys that are null.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Tensor, writeSafetensors } from '../files/safetensors.ts'
import { type Architecture, elementCount, type Weights, weightSpecs } from '../transformer/architecture.ts'
import { parseArchitecture } from './architecture-config.ts'

/** [time] token ids of the text. */
export const tokens = Array.from({ length: 24 }, (_, i) => (7 * i * i + 3 * i + 1) % 40)

/**
 * Element i of a weight whose name has the sum h of (place + 1) · code: sin(0.7 i + 0.3 (i mod 13) + h), times
 * 1.2 / √width for matrices, a half for biases, and a fifth around 1 for norms.
 */
export function formulaWeights(architecture: Architecture): Weights {
  return new Map(
    weightSpecs(architecture).map(({ name, shape }) => {
      const phase = [...name].reduce((sum, letter, at) => sum + letter.charCodeAt(0) * (at + 1), 0)
      const [, width] = shape
      const values = Float32Array.from({ length: elementCount(shape) }, (_, i) => {
        const wave = Math.sin(0.7 * i + 0.3 * (i % 13) + phase)
        if (width !== undefined) return (wave * 1.2) / Math.sqrt(width)
        return name.includes('norm') ? 1 + 0.2 * wave : 0.5 * wave
      })
      return [name, values]
    }),
  )
}

export interface FieldModel {
  readonly name: string
  readonly config: object
  /** How its weights are published; absent: F32. */
  readonly dtype?: 'BF16' | 'F16'
  /** Files that they are divided into; absent: one. */
  readonly shards?: number
  /** The logprob of each token after the first, at temperature 1. */
  readonly logprobs: readonly number[]
}

/** Writes a model as it is published, without its tokenizer. */
export async function writeFieldModel(
  folder: string,
  { config, dtype, shards = 1 }: FieldModel,
): Promise<void> {
  const text = JSON.stringify(config)
  const architecture = parseArchitecture(text, 'config.json')
  const weights = formulaWeights(architecture)
  const tensors = weightSpecs(architecture).map(({ name, shape }): readonly [string, Tensor] => {
    const data = weights.get(name) ?? new Float32Array()
    return [
      name,
      dtype === undefined
        ? { dtype: 'F32', shape, data }
        : { dtype, shape, data: Uint16Array.from(data, narrow[dtype]) },
    ]
  })
  await writeFile(join(folder, 'config.json'), text)
  if (shards === 1) {
    await writeSafetensors(join(folder, 'model.safetensors'), new Map(tensors), { format: 'pt' })
    return
  }
  const fileOf = (index: number) => `model-0000${(index % shards) + 1}-of-0000${shards}.safetensors`
  for (let shard = 0; shard < shards; shard++) {
    const part = tensors.filter((_, index) => index % shards === shard)
    await writeSafetensors(join(folder, fileOf(shard)), new Map(part), { format: 'pt' })
  }
  const map = Object.fromEntries(tensors.map(([name], index) => [name, fileOf(index)]))
  await writeFile(
    join(folder, 'model.safetensors.index.json'),
    JSON.stringify({ metadata: {}, weight_map: map }),
  )
}

const single = new Float32Array(1)
const bitsOfSingle = new Uint32Array(single.buffer)

/** The bits of a number in 16, rounded to the nearest, ties to even. */
const narrow: Readonly<Record<'BF16' | 'F16', (value: number) => number>> = {
  BF16: (value) => {
    single[0] = value
    const [bits = 0] = bitsOfSingle
    return (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16
  },
  F16: (value) => {
    const size = Math.abs(value)
    const sign = value < 0 ? 0x8000 : 0
    // The step between neighbours is 2^-10 of the power of two below, and 2^-24 among the smallest.
    const exponent = Math.max(-14, Math.floor(Math.log2(size)))
    const steps = roundToEven(size / 2 ** (exponent - 10))
    return size === 0 ? sign : sign + ((exponent + 14) << 10) + steps
  },
}

function roundToEven(value: number): number {
  const below = Math.floor(value)
  const rest = value - below
  return rest > 0.5 || (rest === 0.5 && below % 2 === 1) ? below + 1 : below
}

const qwenShape = {
  vocab_size: 40,
  hidden_size: 32,
  intermediate_size: 48,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  hidden_act: 'silu',
  rope_parameters: { rope_theta: 1000000.0, rope_type: 'default' },
  rms_norm_eps: 1e-5,
  max_position_embeddings: 128,
  use_sliding_window: false,
}

export const fieldModels: readonly FieldModel[] = [
  {
    name: 'llama',
    config: {
      model_type: 'llama',
      vocab_size: 40,
      hidden_size: 32,
      intermediate_size: 48,
      num_hidden_layers: 2,
      num_attention_heads: 4,
      num_key_value_heads: 2,
      head_dim: 8,
      hidden_act: 'silu',
      rope_parameters: {
        factor: 8.0,
        high_freq_factor: 4.0,
        low_freq_factor: 1.0,
        original_max_position_embeddings: 16,
        rope_theta: 500.0,
        rope_type: 'llama3',
      },
      rms_norm_eps: 1e-5,
      tie_word_embeddings: false,
      max_position_embeddings: 128,
      attention_bias: false,
      mlp_bias: false,
    },
    logprobs: [
      -5.118188, -5.497789, -4.430985, -3.318656, -4.844995, -3.939948, -3.216836, -4.474584, -3.979943,
      -6.246841, -6.191283, -3.215441, -3.178586, -3.617009, -6.435256, -3.512623, -2.691159, -2.964125,
      -3.426372, -5.105997, -3.321412, -3.207892, -2.46426,
    ],
  },
  {
    name: 'linear',
    config: {
      model_type: 'llama',
      vocab_size: 40,
      hidden_size: 32,
      intermediate_size: 48,
      num_hidden_layers: 2,
      num_attention_heads: 4,
      num_key_value_heads: 2,
      head_dim: 8,
      hidden_act: 'silu',
      rope_parameters: { factor: 4.0, rope_theta: 10000.0, rope_type: 'linear' },
      rms_norm_eps: 1e-5,
      tie_word_embeddings: true,
      max_position_embeddings: 128,
      attention_bias: false,
      mlp_bias: false,
    },
    logprobs: [
      -3.837132, -5.310375, -5.11225, -4.19177, -4.308212, -4.754319, -4.059022, -5.474244, -3.759384,
      -2.143328, -3.463936, -5.140043, -4.728024, -3.509639, -3.044083, -3.197617, -6.116734, -6.270228,
      -3.200043, -2.355215, -3.526139, -6.84852, -4.93475,
    ],
  },
  {
    name: 'yarn',
    config: {
      model_type: 'qwen2',
      vocab_size: 40,
      hidden_size: 32,
      intermediate_size: 48,
      num_hidden_layers: 2,
      num_attention_heads: 4,
      num_key_value_heads: 2,
      hidden_act: 'silu',
      rope_theta: 100.0,
      rope_scaling: {
        type: 'yarn',
        factor: 4.0,
        original_max_position_embeddings: 16,
        beta_fast: 4,
        beta_slow: 0.5,
      },
      rms_norm_eps: 1e-5,
      tie_word_embeddings: true,
      max_position_embeddings: 64,
      use_sliding_window: false,
    },
    logprobs: [
      -3.758045, -5.115766, -5.083859, -3.642192, -4.875399, -5.225483, -3.623382, -5.269522, -4.029819,
      -2.200722, -3.644207, -5.149907, -4.938104, -4.038334, -3.443826, -3.161487, -6.557588, -6.520499,
      -3.246999, -2.519475, -3.711329, -6.163889, -4.802396,
    ],
  },
  {
    name: 'yarn-factor',
    config: {
      model_type: 'llama',
      vocab_size: 40,
      hidden_size: 32,
      intermediate_size: 48,
      num_hidden_layers: 2,
      num_attention_heads: 4,
      num_key_value_heads: 2,
      head_dim: 16,
      hidden_act: 'silu',
      rope_parameters: {
        rope_type: 'yarn',
        rope_theta: 10000.0,
        factor: 4.0,
        original_max_position_embeddings: 16,
        attention_factor: 1.3,
        truncate: false,
      },
      rms_norm_eps: 1e-5,
      tie_word_embeddings: false,
      max_position_embeddings: 64,
      attention_bias: false,
      mlp_bias: false,
    },
    logprobs: [
      -3.153367, -3.250902, -3.168866, -4.310877, -2.528156, -4.11099, -5.258494, -2.537597, -3.261098,
      -4.767648, -3.041567, -5.17521, -6.203496, -3.158701, -6.141947, -6.234422, -2.952826, -4.777398,
      -6.212476, -2.471561, -5.637285, -6.019239, -2.652968,
    ],
  },
  {
    name: 'mistral',
    config: {
      model_type: 'mistral',
      vocab_size: 40,
      hidden_size: 32,
      intermediate_size: 48,
      num_hidden_layers: 2,
      num_attention_heads: 4,
      num_key_value_heads: 2,
      head_dim: 16,
      hidden_act: 'silu',
      rope_parameters: { rope_theta: 10000.0, rope_type: 'default' },
      rms_norm_eps: 1e-5,
      tie_word_embeddings: false,
      max_position_embeddings: 128,
      sliding_window: 64,
    },
    logprobs: [
      -3.153367, -3.247739, -3.16677, -4.18082, -2.453255, -3.182607, -5.063976, -2.68184, -3.189116,
      -4.873408, -2.281182, -4.878531, -6.708188, -3.553591, -5.981508, -6.108403, -4.024058, -4.918381,
      -6.437228, -2.687358, -5.775916, -5.945009, -2.750239,
    ],
  },
  {
    name: 'qwen2',
    config: {
      model_type: 'qwen2',
      vocab_size: 40,
      hidden_size: 32,
      intermediate_size: 48,
      num_hidden_layers: 2,
      num_attention_heads: 4,
      num_key_value_heads: 2,
      hidden_act: 'silu',
      rope_parameters: { rope_theta: 1000000.0, rope_type: 'default' },
      rms_norm_eps: 1e-5,
      tie_word_embeddings: true,
      max_position_embeddings: 128,
      use_sliding_window: false,
    },
    logprobs: [
      -3.758045, -5.145789, -5.065498, -3.824418, -4.833491, -5.285593, -3.677621, -5.212778, -4.019145,
      -2.216919, -3.603467, -5.09285, -4.683396, -3.487061, -3.196871, -3.144988, -6.184584, -6.307105,
      -3.288977, -2.427203, -3.717668, -6.38976, -4.65417,
    ],
  },
  {
    name: 'qwen3',
    config: {
      model_type: 'qwen3',
      vocab_size: 40,
      hidden_size: 32,
      intermediate_size: 48,
      num_hidden_layers: 2,
      num_attention_heads: 4,
      num_key_value_heads: 2,
      head_dim: 16,
      hidden_act: 'silu',
      rope_parameters: { rope_theta: 1000000.0, rope_type: 'default' },
      rms_norm_eps: 1e-5,
      tie_word_embeddings: false,
      max_position_embeddings: 128,
      attention_bias: false,
      use_sliding_window: false,
    },
    logprobs: [
      -3.153367, -3.224763, -3.20346, -4.150809, -2.66444, -3.566771, -4.822438, -2.624682, -2.968837,
      -5.005351, -2.996979, -4.748585, -6.274425, -3.217143, -5.52983, -5.68722, -3.33033, -4.517922,
      -5.866382, -2.41479, -5.362055, -5.845424, -2.672637,
    ],
  },
  {
    name: 'smollm2',
    config: {
      model_type: 'llama',
      vocab_size: 40,
      hidden_size: 48,
      intermediate_size: 64,
      num_hidden_layers: 2,
      num_attention_heads: 3,
      num_key_value_heads: 1,
      hidden_act: 'silu',
      rope_parameters: { rope_theta: 100000.0, rope_type: 'default' },
      rms_norm_eps: 1e-5,
      tie_word_embeddings: true,
      max_position_embeddings: 128,
      attention_bias: false,
      mlp_bias: false,
    },
    dtype: 'BF16',
    logprobs: [
      -4.718371, -3.553989, -4.279618, -2.99178, -3.24944, -3.237911, -3.095308, -4.883271, -3.297637,
      -3.546376, -5.365718, -3.53593, -2.523381, -3.526129, -4.126556, -2.686808, -3.217908, -4.97767,
      -5.059693, -4.136937, -4.564628, -4.275246, -2.943852,
    ],
  },
  {
    name: 'qwen2-divided',
    config: { model_type: 'qwen2', ...qwenShape, tie_word_embeddings: false },
    dtype: 'BF16',
    shards: 3,
    logprobs: [
      -5.143375, -5.196653, -3.991704, -3.203346, -4.887144, -3.670826, -3.033339, -4.252873, -3.545722,
      -5.932012, -6.0757, -3.077704, -3.092139, -3.874656, -6.428896, -3.374563, -2.671566, -3.211607,
      -3.317661, -5.141673, -3.199108, -3.126677, -2.644222,
    ],
  },
  {
    name: 'qwen3-divided',
    config: {
      model_type: 'qwen3',
      ...qwenShape,
      head_dim: 16,
      attention_bias: false,
      tie_word_embeddings: true,
    },
    dtype: 'F16',
    shards: 2,
    logprobs: [
      -4.844614, -4.164935, -3.951531, -3.428213, -5.378436, -3.235776, -3.427823, -5.612285, -3.993532,
      -3.671402, -4.170205, -2.659782, -4.819727, -4.202842, -2.860097, -4.772238, -3.668169, -2.631747,
      -4.168923, -5.414764, -3.571263, -5.571575, -3.635422,
    ],
  },
]
