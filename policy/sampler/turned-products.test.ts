/** Decoding with its products turned, held to decoding without. */
import { afterAll, expect, it } from 'vitest'
import { uniforms } from '../../identity/identity.ts'
import { createInferenceSession, type Tensor, tensor } from '../graph/runtime.ts'
import type { Architecture } from '../transformer/architecture.ts'
import { buildDecodeGraph } from '../transformer/decode-graph.ts'
import { rotaryTables } from '../transformer/rope.ts'
import { Batch } from './batch.ts'
import { fuseWeights } from './fused-weights.ts'
import { randomWeights } from './random-weights.testing.ts'

const architecture: Architecture = {
  vocab_size: 70,
  hidden_size: 48,
  intermediate_size: 600, // more than a sum in one go for 32 rows, not for 16
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  head_dim: 12,
  rope_theta: 10000,
  rms_norm_eps: 1e-5,
  tie_word_embeddings: true,
  max_position_embeddings: 256,
}
const capacity = 128
const slots = 20

const weights = fuseWeights(architecture, randomWeights(architecture, uniforms(1)), 1)
const plain = await createInferenceSession(buildDecodeGraph(architecture, 1), { threads: 1 })
const turned = await createInferenceSession(buildDecodeGraph(architecture, 1, 16), { threads: 1 })
const turnedInPart = await createInferenceSession(buildDecodeGraph(architecture, 1, 32), { threads: 1 })
afterAll(async () => {
  for (const session of [plain, turned, turnedInPart]) await session.release()
})

/** Slots with pasts of 3 … 79 random places. */
function filled(): Batch {
  const next = uniforms(2)
  const batch = new Batch(architecture, capacity, slots)
  const width = architecture.num_key_value_heads * architecture.head_dim
  for (let slot = 0; slot < slots; slot++) {
    for (let place = 0; place < 3 + 4 * slot; place++) {
      const rows = Array.from({ length: 2 * architecture.num_hidden_layers }, () =>
        Float32Array.from({ length: slots * width }, () => 4 * next() - 2),
      )
      batch.appendDecoded(slot, rows)
    }
    batch.setNext(slot, Math.floor(70 * next()), next())
  }
  return batch
}

const batch = filled()
const { cosines, sines } = rotaryTables(architecture, 256)
const tables = { cos: tensor('float32', cosines, [256, 6]), sin: tensor('float32', sines, [256, 6]) }

async function decode(session: typeof plain, rows: number): Promise<Readonly<Record<string, Tensor>>> {
  return await session.run({ ...batch.decodeFeeds(rows), ...tables, ...weights })
}

it.each([
  ['all', turned, 16],
  ['those whose sums are short', turnedInPart, slots],
])('turning %s of the products changes no token and no number beyond rounding', async (_, session, rows) => {
  const expected = await decode(plain, rows)
  const found = await decode(session, rows)
  expect(found.token?.data).toEqual(expected.token?.data)
  for (const name of ['probability', 'new_key.1', 'new_value.1']) {
    const [a, b] = [expected[name]?.data as Float32Array, found[name]?.data as Float32Array]
    for (const [i, value] of a.entries()) expect(Math.abs(value - (b[i] as number))).toBeLessThan(1e-5)
  }
})

it.each([
  ['all', turned, 16],
  ['some', turnedInPart, slots],
])(
  'with %s products turned a row has the same bytes however many others there are',
  async (_, session, most) => {
    const all = await decode(session, most)
    for (const rows of [2, 3, 7, 15, 16]) {
      const few = await decode(session, rows)
      for (const [name, { data }] of Object.entries(few))
        expect(data, `${name} of ${rows}`).toEqual((all[name] as Tensor).data.subarray(0, data.length))
    }
  },
)
