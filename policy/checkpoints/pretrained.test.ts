import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { type Tensor, writeSafetensors } from '../files/safetensors.ts'
import { elementCount, weightSpecs } from '../transformer/architecture.ts'
import { parseArchitecture } from './architecture-config.ts'
import { readPretrained } from './pretrained.ts'

const config = JSON.stringify({
  vocab_size: 6,
  hidden_size: 4,
  intermediate_size: 4,
  num_hidden_layers: 1,
  num_attention_heads: 2,
  tie_word_embeddings: true,
})
// Every weight is 1 (0x3f80 as BF16) except its first element, 2 (0x4000).
const tensors = new Map<string, Tensor>(
  weightSpecs(parseArchitecture(config, 'config.json')).map(({ name, shape }) => {
    const data = new Uint16Array(elementCount(shape)).fill(0x3f80)
    data[0] = 0x4000
    return [name, { dtype: 'BF16', shape, data }]
  }),
)

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'perdure-pretrained-'))
  await writeFile(join(dir, 'config.json'), config)
  await writeFile(join(dir, 'tokenizer.json'), '{}')
  return () => rm(dir, { recursive: true })
})

async function writeShards(first: Iterable<[string, Tensor]>, map: Record<string, string>): Promise<void> {
  const names = new Set<string>()
  const part = new Map(first)
  for (const name of part.keys()) names.add(name)
  await writeSafetensors(join(dir, 'model-1.safetensors'), part)
  await writeSafetensors(
    join(dir, 'model-2.safetensors'),
    new Map([...tensors].filter(([name]) => !names.has(name))),
  )
  await writeFile(
    join(dir, 'model.safetensors.index.json'),
    JSON.stringify({ metadata: {}, weight_map: map }),
  )
}

describe('readPretrained', () => {
  // [PRETRAINED-1]
  test('widens BF16 weights to Float32', async () => {
    await writeSafetensors(join(dir, 'model.safetensors'), tensors)
    const { weights, tokenizer } = await readPretrained(dir)
    expect([...weights.keys()]).toEqual([...tensors.keys()])
    expect(weights.get('model.norm.weight')).toEqual(new Float32Array([2, 1, 1, 1]))
    expect(tokenizer).toBe('{}')
  })

  test('gathers shards by their index', async () => {
    const all = [...tensors]
    const map = Object.fromEntries(all.map(([name], i) => [name, `model-${i < 3 ? 1 : 2}.safetensors`]))
    await writeShards(all.slice(0, 3), map)
    expect((await readPretrained(dir)).weights.size).toBe(tensors.size)
  })

  // [PRETRAINED-4]
  test('a shard name that leads elsewhere is refused', async () => {
    await mkdir(join(dir, 'x'))
    await writeShards([], { 'model.norm.weight': '../other.safetensors' })
    await expect(readPretrained(dir)).rejects.toThrow('"../other.safetensors" is no name of a shard')
  })

  test('a tensor that its shard lacks is named', async () => {
    await writeShards([], { 'model.norm.weight': 'model-1.safetensors' })
    await expect(readPretrained(dir)).rejects.toThrow('"model.norm.weight" is not in model-1.safetensors')
  })

  // [PRETRAINED-3]
  test('a tensor without a place in the architecture means another model', async () => {
    const bias = new Map<string, Tensor>([
      ...tensors,
      ['model.layers.0.self_attn.q_proj.bias', { dtype: 'F32', shape: [4], data: new Float32Array(4) }],
    ])
    await writeSafetensors(join(dir, 'model.safetensors'), bias)
    await expect(readPretrained(dir)).rejects.toMatchObject({
      kind: 'foreign',
      message: expect.stringContaining('"model.layers.0.self_attn.q_proj.bias" has no place'),
    })
  })

  test('a repeated output matrix of tied embeddings is passed over', async () => {
    const tied = new Map<string, Tensor>([
      ...tensors,
      ['lm_head.weight', { dtype: 'BF16', shape: [6, 4], data: new Uint16Array(24) }],
    ])
    await writeSafetensors(join(dir, 'model.safetensors'), tied)
    expect((await readPretrained(dir)).weights.has('lm_head.weight')).toBe(false)
  })

  test('a folder without weights says so', async () => {
    await expect(readPretrained(dir)).rejects.toMatchObject({
      kind: 'missing',
      message: expect.stringContaining('neither model.safetensors nor its index'),
    })
  })
})

test.each([
  ['a byte order mark and CRLF', (text: string) => Buffer.from(`\ufeff${text.replaceAll('\n', '\r\n')}`)],
  ['UTF-16', (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le')],
])("a model's texts with %s are read as they were meant", async (_, encoded) => {
  await writeSafetensors(join(dir, 'model.safetensors'), tensors)
  const template = '{% for message in messages %}\n{{ message.content }}\n{% endfor %}'
  await writeFile(join(dir, 'config.json'), encoded(config))
  await writeFile(join(dir, 'chat_template.jinja'), encoded(template))
  expect((await readPretrained(dir)).modelChat?.template).toBe(template)
})

test('a chat template that is no text is refused with its line', async () => {
  await writeSafetensors(join(dir, 'model.safetensors'), tensors)
  await writeFile(join(dir, 'chat_template.jinja'), Buffer.from('one\ntwo \xe9', 'latin1'))
  await expect(readPretrained(dir)).rejects.toMatchObject({
    kind: 'corrupt',
    message: expect.stringContaining('chat_template.jinja, line 2: bytes that are no UTF-8'),
  })
})
