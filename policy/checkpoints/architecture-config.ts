/**
 * `config.json` as Hugging Face writes it for Llama, Mistral, SmolLM2, Qwen2 and Qwen3.
 *
 * Invariants
 * - [ARCHITECTURE-1] An architecture that this policy cannot compute (partial or otherwise scaled rotary positions, other biases and activations,
 *   other model families) is refused by key and value, never ignored. A sliding window is kept: contexts must lie within it.
 * - [ARCHITECTURE-2] A written file is read by Hugging Face's class of the family and gives the same architecture
 *   back.
 */

import { z } from 'zod'
import { CheckpointFault } from '../files/checkpoint-fault.ts'
import { tokenlessIds } from '../tokenizer/tokenless-ids.ts'
import {
  type Architecture,
  type Family,
  hasHeadNorms,
  headMultiple,
  type RopeScaling,
} from '../transformer/architecture.ts'

const size = z.int().min(1)
/** Families by their name in `config.json`, given the checks below. */
const knownFamilies: Readonly<Record<string, Family>> = {
  llama: 'llama',
  mistral: 'llama',
  qwen2: 'qwen2',
  qwen3: 'qwen3',
}
/** The class of transformers that computes a family. */
const classes: Readonly<Record<Family, string>> = {
  llama: 'LlamaForCausalLM',
  qwen2: 'Qwen2ForCausalLM',
  qwen3: 'Qwen3ForCausalLM',
}

const positive = z.number().positive()
const scalingSchema = z.discriminatedUnion('rope_type', [
  z.object({ rope_type: z.literal('linear'), factor: positive }),
  z.object({
    rope_type: z.literal('llama3'),
    factor: positive,
    low_freq_factor: positive,
    high_freq_factor: positive,
    original_max_position_embeddings: size,
  }),
  z.object({
    rope_type: z.literal('yarn'),
    factor: positive,
    original_max_position_embeddings: size,
    attention_factor: positive.nullish().transform(orAbsent),
    beta_fast: positive.nullish().transform(orAbsent),
    beta_slow: positive.nullish().transform(orAbsent),
    mscale: positive.nullish().transform(orAbsent),
    mscale_all_dim: positive.nullish().transform(orAbsent),
    truncate: z.boolean().optional(),
  }),
])

/** Python writes what is not given as null. */
function orAbsent<T>(value: T | null | undefined): T | undefined {
  return value ?? undefined
}

const ropeSchema = z
  .looseObject({
    rope_type: z.string().optional(),
    type: z.string().optional(),
    rope_theta: z.number().positive().optional(),
    partial_rotary_factor: z.number().optional(),
  })
  .nullish()

const configSchema = z.looseObject({
  model_type: z.string().default('llama'),
  vocab_size: size,
  hidden_size: size,
  intermediate_size: size,
  num_hidden_layers: size,
  num_attention_heads: size,
  num_key_value_heads: size.nullish(),
  head_dim: size.nullish(),
  hidden_act: z.string().default('silu'),
  rope_theta: z.number().positive().optional(),
  rope_parameters: ropeSchema,
  rope_scaling: ropeSchema,
  rope_interleaved: z.boolean().nullish(),
  partial_rotary_factor: z.number().nullish(),
  rms_norm_eps: z.number().positive().default(1e-6),
  tie_word_embeddings: z.boolean().default(false),
  max_position_embeddings: size.default(2048),
  attention_bias: z.boolean().nullish(),
  mlp_bias: z.boolean().nullish(),
  sliding_window: size.nullish(),
  use_sliding_window: z.boolean().nullish(),
})

/**
 * The architecture that a `config.json` describes, defaults as in Hugging Face's LlamaConfig.
 * @param file named in faults
 * @throws CheckpointFault `corrupt` for missing or ill-typed keys, `foreign` for what cannot be computed
 */
export function parseArchitecture(text: string, file: string): Architecture {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (cause) {
    throw new CheckpointFault('corrupt', `${file}: not JSON`, { cause })
  }
  const parsed = configSchema.safeParse(json)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    throw new CheckpointFault('corrupt', `${file}: ${issue?.path.join('.') || 'root'}: ${issue?.message}`, {
      cause: parsed.error,
    })
  }
  const config = parsed.data
  refuseUnsupported(config, file)
  const heads = config.num_attention_heads
  if (config.head_dim == null && config.hidden_size % heads !== 0)
    throw new CheckpointFault(
      'corrupt',
      `${file}: hidden_size ${config.hidden_size} is no multiple of num_attention_heads ${heads}`,
    )
  const family = knownFamilies[config.model_type] ?? 'llama'
  const scaling = scalingOf(config, file)
  const architecture: Architecture = {
    ...(family === 'llama' ? {} : { model_type: family }),
    vocab_size: config.vocab_size,
    hidden_size: config.hidden_size,
    intermediate_size: config.intermediate_size,
    num_hidden_layers: config.num_hidden_layers,
    num_attention_heads: heads,
    num_key_value_heads: config.num_key_value_heads ?? heads,
    head_dim: config.head_dim ?? config.hidden_size / heads,
    rope_theta: config.rope_parameters?.rope_theta ?? config.rope_theta ?? 10000,
    ...(scaling === undefined ? {} : { rope_scaling: scaling }),
    rms_norm_eps: config.rms_norm_eps,
    tie_word_embeddings: config.tie_word_embeddings,
    max_position_embeddings: config.max_position_embeddings,
    ...windowOf(config),
  }
  if (heads % architecture.num_key_value_heads !== 0)
    throw new CheckpointFault(
      'corrupt',
      `${file}: num_attention_heads ${heads} is no multiple of num_key_value_heads ${architecture.num_key_value_heads}`,
    )
  if (architecture.head_dim % 2 !== 0)
    throw new CheckpointFault(
      'foreign',
      `${file}: head_dim ${architecture.head_dim} is odd; rotary positions need pairs`,
    )
  if (hasHeadNorms(architecture) && architecture.head_dim % headMultiple !== 0)
    throw new CheckpointFault(
      'foreign',
      `${file}: head_dim ${architecture.head_dim} is no multiple of ${headMultiple}, which norms of heads need here`,
    )
  return architecture
}

/** The default of transformers' classes, where a file has no such key. */
const defaultWindow = 4096

/** Llama has no window whatever its file says, and the files of Qwen name one that they do not use. */
function windowOf({
  model_type,
  sliding_window,
  use_sliding_window,
}: z.output<typeof configSchema>): Pick<Architecture, 'sliding_window'> {
  const isUsed = model_type === 'mistral' || (model_type.startsWith('qwen') && use_sliding_window === true)
  return isUsed && sliding_window !== null ? { sliding_window: sliding_window ?? defaultWindow } : {}
}

/** Where rotary positions are scaled; undefined where they are not. @throws CheckpointFault */
function scalingOf(config: z.output<typeof configSchema>, file: string): RopeScaling | undefined {
  for (const key of ['rope_parameters', 'rope_scaling'] as const) {
    const given = config[key]
    const type = given?.rope_type ?? given?.type ?? 'default'
    if (type === 'default') continue
    const parsed = scalingSchema.safeParse({ ...given, rope_type: type })
    if (parsed.success) return parsed.data
    const [issue] = parsed.error.issues
    throw new CheckpointFault(
      'foreign',
      issue?.path[0] === 'rope_type'
        ? `${file}: ${key}.rope_type is ${JSON.stringify(type)}, supported is "default", "linear", "llama3" or "yarn"`
        : `${file}: ${key}.${issue?.path.join('.')}: ${issue?.message}`,
      { cause: parsed.error },
    )
  }
  return undefined
}

function refuseUnsupported(config: z.output<typeof configSchema>, file: string): void {
  function refuse(key: string, value: unknown, allowed: string): never {
    throw new CheckpointFault(
      'foreign',
      `${file}: ${key} is ${JSON.stringify(value)}, supported is ${allowed}`,
    )
  }
  const family = knownFamilies[config.model_type]
  if (family === undefined) refuse('model_type', config.model_type, Object.keys(knownFamilies).join(', '))
  if (config.hidden_act !== 'silu') refuse('hidden_act', config.hidden_act, '"silu"')
  if (config.attention_bias) refuse('attention_bias', true, 'false')
  if (config.mlp_bias) refuse('mlp_bias', true, 'false')
  if (config.rope_interleaved) refuse('rope_interleaved', true, 'false')
  const partial = config.rope_parameters?.partial_rotary_factor ?? config.partial_rotary_factor ?? 1
  if (partial !== 1) refuse('partial_rotary_factor', partial, '1')
}

/** A window that is used: Mistral's class has one, Qwen's where the file switches it on. */
function renderedWindow({ model_type, sliding_window }: Architecture): object {
  if (sliding_window === undefined) return {}
  return model_type === undefined
    ? { architectures: ['MistralForCausalLM'], model_type: 'mistral' }
    : { use_sliding_window: true }
}

/** The architecture, with the ids that its tokenizer has no token for. @param tokenizer the text of a `tokenizer.json` */
export function withTokenless(architecture: Architecture, tokenizer: string): Architecture {
  const tokenless = tokenlessIds(tokenizer, architecture.vocab_size)
  return tokenless.length === 0 ? architecture : { ...architecture, tokenless }
}

/** The text of a `config.json` that Hugging Face's class of the family and `parseArchitecture` read. */
export function renderArchitecture({ tokenless: _, ...architecture }: Architecture): string {
  return `${JSON.stringify(
    {
      architectures: [classes[architecture.model_type ?? 'llama']],
      model_type: 'llama',
      ...architecture,
      hidden_act: 'silu',
      attention_bias: false,
      mlp_bias: false,
      rope_scaling: architecture.rope_scaling ?? null,
      torch_dtype: 'float32',
      ...renderedWindow(architecture),
    },
    null,
    2,
  )}\n`
}
