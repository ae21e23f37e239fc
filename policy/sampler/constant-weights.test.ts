/** Decoding with weights that are constants, held to decoding with weights that are fed. */
import { afterAll, expect, it } from 'vitest'
import { uniforms } from '../../identity/identity.ts'
import { createInferenceSession, type InferenceSession, tensor } from '../graph/runtime.ts'
import type { Architecture } from '../transformer/architecture.ts'
import { buildDecodeGraph } from '../transformer/decode-graph.ts'
import { rotaryTables } from '../transformer/rope.ts'
import { Batch } from './batch.ts'
import { fuseWeights } from './fused-weights.ts'
import { randomWeights } from './random-weights.testing.ts'

const architecture: Architecture = {
  vocab_size: 70,
  hidden_size: 48,
  intermediate_size: 600, // more than the runtime sums in one go
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  head_dim: 12,
  rope_theta: 10000,
  rms_norm_eps: 1e-5,
  tie_word_embeddings: true,
  max_position_embeddings: 256,
}
const wide = { ...architecture, head_dim: 16 } // the runtime's attention takes multiples of 16
const capacity = 128
const slots = 20

const weights = fuseWeights(architecture, randomWeights(architecture, uniforms(1)), 1, wide.head_dim)
const stored = new Map(Object.entries(weights))
const fed = await createInferenceSession(buildDecodeGraph(wide, 1), { threads: 1 })
const constant = await createInferenceSession(buildDecodeGraph(wide, 1, stored), { threads: 1 })
const shared = await createInferenceSession(buildDecodeGraph(wide, 1, stored), { threads: 2 })
const inBlocks = fuseWeights(architecture, randomWeights(architecture, uniforms(1)), 2, wide.head_dim)
const fedShared = await createInferenceSession(buildDecodeGraph(wide, 2), { threads: 2 })
afterAll(async () => {
  for (const session of [fed, constant, shared, fedShared]) await session.release()
})

const { cosines, sines } = rotaryTables(wide, 256)
const tables = { cos: tensor('float32', cosines, [256, 8]), sin: tensor('float32', sines, [256, 8]) }

/** Slots with pasts of 3 … 79 random places. */
function filled(): Batch {
  const next = uniforms(2)
  const batch = new Batch(wide, capacity, slots)
  const { feeds } = batch.decodeStep(slots)
  for (let layer = 0; layer < wide.num_hidden_layers; layer++)
    for (const name of [`key.${layer}`, `value.${layer}`]) {
      const data = feeds[name]?.data as Float32Array
      for (let i = 0; i < data.length; i++) data[i] = 4 * next() - 2
    }
  for (let slot = 0; slot < slots; slot++) {
    batch.setLength(slot, 3 + 4 * slot)
    batch.setNext(slot, Math.floor(70 * next()), next())
  }
  return batch
}

/** The draws of the first `rows` slots, and all of their contents afterwards. */
async function decode(
  session: InferenceSession,
  rows: number,
  feeds: Parameters<InferenceSession['write']>[0],
) {
  const batch = filled()
  const step = batch.decodeStep(rows)
  await session.write({ ...step.feeds, ...tables, ...feeds }, step.outputs)
  const held = Array.from({ length: rows }, (_, slot) => {
    batch.lengthen(slot)
    const of = new Float32Array(4 * 2 * capacity * wide.head_dim)
    batch.save(slot, of, capacity, 0, batch.lengths[slot] as number)
    return of
  })
  return { tokens: batch.tokens.slice(0, rows), probabilities: batch.probabilities.slice(0, rows), held }
}

it('constants change no token and no number beyond rounding', async () => {
  const expected = await decode(fed, slots, weights)
  const found = await decode(constant, slots, {})
  expect(found.tokens).toEqual(expected.tokens)
  const pairs: [Float32Array, Float32Array][] = [[expected.probabilities, found.probabilities]]
  for (const [slot, held] of expected.held.entries()) pairs.push([held, found.held[slot] as Float32Array])
  for (const [a, b] of pairs)
    for (const [i, value] of a.entries()) expect(Math.abs(value - (b[i] as number))).toBeLessThan(1e-5)
})

it.each([
  ['constants, one thread', constant, {}],
  ['constants, two threads', shared, {}],
  ['fed weights, two threads', fedShared, inBlocks],
])('a row has the same bytes however many others there are: %s', async (_, session, feeds) => {
  const all = await decode(session, slots, feeds)
  for (const rows of [2, 3, 7, 15, 16]) {
    const few = await decode(session, rows, feeds)
    expect(few.tokens).toEqual(all.tokens.slice(0, rows))
    expect(few.probabilities).toEqual(all.probabilities.slice(0, rows))
    expect(few.held).toEqual(all.held.slice(0, rows))
  }
})

it('a step writes the place after what a row holds, and no other', async () => {
  const batch = filled()
  const before = filled()
  const step = batch.decodeStep(7)
  await constant.write({ ...step.feeds, ...tables }, step.outputs)
  const width = wide.num_key_value_heads * capacity * wide.head_dim
  for (const name of ['key.0', 'value.0', 'key.1', 'value.1']) {
    const [a, b] = [before, batch].map((each) => each.decodeStep(slots).feeds[name]?.data as Float32Array)
    const changed = new Set<string>()
    for (const [i, value] of (a as Float32Array).entries())
      if (value !== b?.[i])
        changed.add(`${Math.floor(i / width)}:${Math.floor(i / wide.head_dim) % capacity}`)
    expect([...changed]).toEqual(Array.from({ length: 7 }, (_, slot) => `${slot}:${3 + 4 * slot}`))
  }
})
