/**
 * `config.json` as Hugging Face writes it for Llama-style decoders.
 *
 * Invariants
 * - [ARCHITECTURE-1] What this policy cannot compute (scaled or partial rotary positions, biases, other activations,
 *   sliding windows, other model families) is refused by key and value, never ignored.
 * - [ARCHITECTURE-2] What is written is read by Hugging Face's `LlamaForCausalLM` and gives the same architecture
 *   back.
 */
import { z } from 'zod'
import type { Architecture } from '../transformer/architecture.ts'
import { CheckpointFault } from './checkpoint-fault.ts'

const size = z.int().min(1)
/** Families whose computation is exactly the decoder's here, given the checks below. */
const knownFamilies: readonly string[] = ['llama', 'mistral']

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
  sliding_window: z.int().nullish(),
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
  const architecture: Architecture = {
    vocab_size: config.vocab_size,
    hidden_size: config.hidden_size,
    intermediate_size: config.intermediate_size,
    num_hidden_layers: config.num_hidden_layers,
    num_attention_heads: heads,
    num_key_value_heads: config.num_key_value_heads ?? heads,
    head_dim: config.head_dim ?? config.hidden_size / heads,
    rope_theta: config.rope_parameters?.rope_theta ?? config.rope_theta ?? 10000,
    rms_norm_eps: config.rms_norm_eps,
    tie_word_embeddings: config.tie_word_embeddings,
    max_position_embeddings: config.max_position_embeddings,
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
  return architecture
}

function refuseUnsupported(config: z.output<typeof configSchema>, file: string): void {
  function refuse(key: string, value: unknown, allowed: string): never {
    throw new CheckpointFault(
      'foreign',
      `${file}: ${key} is ${JSON.stringify(value)}, supported is ${allowed}`,
    )
  }
  if (!knownFamilies.includes(config.model_type))
    refuse(
      'model_type',
      config.model_type,
      `${knownFamilies.join(' or ')} (Qwen2 adds attention biases, Qwen3 norms of queries and keys)`,
    )
  if (config.hidden_act !== 'silu') refuse('hidden_act', config.hidden_act, '"silu"')
  if (config.attention_bias) refuse('attention_bias', true, 'false')
  if (config.mlp_bias) refuse('mlp_bias', true, 'false')
  if (config.sliding_window != null) refuse('sliding_window', config.sliding_window, 'null')
  if (config.rope_interleaved) refuse('rope_interleaved', true, 'false')
  for (const key of ['rope_parameters', 'rope_scaling'] as const) {
    const type = config[key]?.rope_type ?? config[key]?.type ?? 'default'
    if (type !== 'default') refuse(`${key}.rope_type`, type, '"default" (no scaling)')
  }
  const partial = config.rope_parameters?.partial_rotary_factor ?? config.partial_rotary_factor ?? 1
  if (partial !== 1) refuse('partial_rotary_factor', partial, '1')
}

/** The text of a `config.json` that Hugging Face's LlamaForCausalLM and `parseArchitecture` read. */
export function renderArchitecture(architecture: Architecture): string {
  return `${JSON.stringify(
    {
      architectures: ['LlamaForCausalLM'],
      model_type: 'llama',
      ...architecture,
      hidden_act: 'silu',
      attention_bias: false,
      mlp_bias: false,
      rope_scaling: null,
      torch_dtype: 'float32',
    },
    null,
    2,
  )}\n`
}
