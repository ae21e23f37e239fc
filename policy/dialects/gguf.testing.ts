/**
 * A checkpoint as a GGUF file in F32, which llama.cpp's server reads.
 *
 * Form: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. Rows of the query and key projections are
 * interleaved, for llama.cpp turns neighbouring places of a head where Hugging Face turns its halves.
 */
import { writeFile } from 'node:fs/promises'
import type { Architecture, Weights } from '../transformer/architecture.ts'

/** The tokens of a vocabulary, by id, as llama.cpp's byte-level tokenizer spells them. */
export interface GgufVocabulary {
  readonly tokens: readonly string[]
  /** Ids of control tokens. */
  readonly controls: readonly number[]
  readonly merges: readonly string[]
  /** Ends an action. */
  readonly end: number
}

const types = { u32: 4, i32: 5, f32: 6, bool: 7, string: 8, array: 9 } as const
const alignment = 32

type Value =
  | { readonly type: 'u32' | 'f32' | 'bool'; readonly value: number }
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'strings'; readonly value: readonly string[] }
  | { readonly type: 'i32s'; readonly value: readonly number[] }

/** Writes the file. */
export async function writeGguf(
  file: string,
  architecture: Architecture,
  weights: Weights,
  vocabulary: GgufVocabulary,
): Promise<void> {
  const metadata = metadataOf(architecture, vocabulary)
  const tensors = [...weights].map(([name, data]) => tensorOf(architecture, name, data))
  const head: Buffer[] = [
    Buffer.from('GGUF'),
    u32(3),
    u64(tensors.length),
    u64(metadata.length),
    ...metadata.flatMap(([key, value]) => [text(key), bytesOf(value)]),
  ]
  let offset = 0
  for (const { name, shape, data } of tensors) {
    // Sizes begin with the one whose numbers are neighbours.
    head.push(text(name), u32(shape.length), ...shape.toReversed().map(u64), u32(0), u64(offset))
    offset += padded(data.byteLength)
  }
  const whole = Buffer.concat(head)
  await writeFile(
    file,
    Buffer.concat([
      whole,
      Buffer.alloc(padded(whole.length) - whole.length),
      ...tensors.flatMap(({ data }) => [
        Buffer.from(data.buffer, data.byteOffset, data.byteLength),
        Buffer.alloc(padded(data.byteLength) - data.byteLength),
      ]),
    ]),
  )
}

function metadataOf(a: Architecture, { tokens, controls, merges, end }: GgufVocabulary): [string, Value][] {
  const u = (value: number): Value => ({ type: 'u32', value })
  const f = (value: number): Value => ({ type: 'f32', value })
  const s = (value: string): Value => ({ type: 'string', value })
  const isControl = new Set(controls)
  return [
    ['general.architecture', s('llama')],
    ['general.name', s('perdure')],
    ['llama.block_count', u(a.num_hidden_layers)],
    ['llama.context_length', u(a.max_position_embeddings)],
    ['llama.embedding_length', u(a.hidden_size)],
    ['llama.feed_forward_length', u(a.intermediate_size)],
    ['llama.attention.head_count', u(a.num_attention_heads)],
    ['llama.attention.head_count_kv', u(a.num_key_value_heads)],
    ['llama.attention.key_length', u(a.head_dim)],
    ['llama.attention.value_length', u(a.head_dim)],
    ['llama.attention.layer_norm_rms_epsilon', f(a.rms_norm_eps)],
    ['llama.rope.dimension_count', u(a.head_dim)],
    ['llama.rope.freq_base', f(a.rope_theta)],
    ['llama.vocab_size', u(a.vocab_size)],
    ['tokenizer.ggml.model', s('gpt2')],
    ['tokenizer.ggml.pre', s('gpt-2')],
    ['tokenizer.ggml.tokens', { type: 'strings', value: tokens }],
    [
      'tokenizer.ggml.token_type',
      { type: 'i32s', value: tokens.map((_, id) => (isControl.has(id) ? 3 : 1)) },
    ],
    ['tokenizer.ggml.merges', { type: 'strings', value: merges }],
    ['tokenizer.ggml.bos_token_id', u(end)],
    ['tokenizer.ggml.eos_token_id', u(end)],
    ['tokenizer.ggml.add_bos_token', { type: 'bool', value: 0 }],
  ]
}

const layerNames: Readonly<Record<string, string>> = {
  input_layernorm: 'attn_norm',
  'self_attn.q_proj': 'attn_q',
  'self_attn.k_proj': 'attn_k',
  'self_attn.v_proj': 'attn_v',
  'self_attn.o_proj': 'attn_output',
  post_attention_layernorm: 'ffn_norm',
  'mlp.gate_proj': 'ffn_gate',
  'mlp.up_proj': 'ffn_up',
  'mlp.down_proj': 'ffn_down',
}
const otherNames: Readonly<Record<string, string>> = {
  'model.embed_tokens.weight': 'token_embd.weight',
  'model.norm.weight': 'output_norm.weight',
  'lm_head.weight': 'output.weight',
}

function tensorOf(a: Architecture, name: string, data: Float32Array) {
  const [, layer, part = ''] = /^model\.layers\.(\d+)\.(.+)\.weight$/.exec(name) ?? []
  const own = layer === undefined ? otherNames[name] : `blk.${layer}.${layerNames[part]}.weight`
  if (own === undefined || own.includes('undefined')) throw new RangeError(`no place for ${name}`)
  const rows = rowsOf(a, part, name)
  const shape = rows === undefined ? [data.length] : [rows, data.length / rows]
  const turned = part === 'self_attn.q_proj' || part === 'self_attn.k_proj'
  return { name: own, shape, data: turned ? interleaved(data, a.head_dim, a.hidden_size) : data }
}

function rowsOf(a: Architecture, part: string, name: string): number | undefined {
  if (otherNames[name] !== undefined) return name === 'model.norm.weight' ? undefined : a.vocab_size
  switch (part) {
    case 'self_attn.q_proj':
      return a.num_attention_heads * a.head_dim
    case 'self_attn.k_proj':
    case 'self_attn.v_proj':
      return a.num_key_value_heads * a.head_dim
    case 'self_attn.o_proj':
    case 'mlp.down_proj':
      return a.hidden_size
    case 'mlp.gate_proj':
    case 'mlp.up_proj':
      return a.intermediate_size
    default:
      return undefined
  }
}

/** Row i of the first half of a head becomes its row 2i, that of the second half its row 2i + 1. */
function interleaved(data: Float32Array, headDim: number, width: number): Float32Array {
  const out = new Float32Array(data.length)
  const half = headDim / 2
  for (let row = 0; row < data.length / width; row++) {
    const [head, place] = [Math.floor(row / headDim), row % headDim]
    const target = head * headDim + (place % half) * 2 + Math.floor(place / half)
    out.set(data.subarray(row * width, (row + 1) * width), target * width)
  }
  return out
}

function bytesOf(value: Value): Buffer {
  switch (value.type) {
    case 'string':
      return Buffer.concat([u32(types.string), text(value.value)])
    case 'u32':
      return Buffer.concat([u32(types.u32), u32(value.value)])
    case 'f32': {
      const bytes = Buffer.alloc(4)
      bytes.writeFloatLE(value.value)
      return Buffer.concat([u32(types.f32), bytes])
    }
    case 'bool':
      return Buffer.concat([u32(types.bool), Buffer.of(value.value)])
    case 'strings':
      return Buffer.concat([
        u32(types.array),
        u32(types.string),
        u64(value.value.length),
        ...value.value.map(text),
      ])
    case 'i32s':
      return Buffer.concat([
        u32(types.array),
        u32(types.i32),
        u64(value.value.length),
        ...value.value.map(u32),
      ])
  }
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'utf8')
  return Buffer.concat([u64(bytes.length), bytes])
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}

function padded(size: number): number {
  return Math.ceil(size / alignment) * alignment
}
