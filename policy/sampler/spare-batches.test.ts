import { expect, test } from 'vitest'
import type { Architecture } from '../transformer/architecture.ts'
import { Batch } from './batch.ts'
import { SpareBatches } from './spare-batches.ts'

const architecture: Architecture = {
  vocab_size: 300,
  hidden_size: 8,
  intermediate_size: 16,
  num_hidden_layers: 1,
  num_attention_heads: 2,
  num_key_value_heads: 1,
  head_dim: 4,
  rope_theta: 10000,
  rms_norm_eps: 1e-5,
  tie_word_embeddings: true,
  max_position_embeddings: 512,
}
const slots = 2
const batch = (capacity: number) => new Batch(architecture, capacity, slots)
/** Keys and values of one layer and head, 4 bytes a number. */
const bytesOf = (capacity: number) => 2 * slots * capacity * 4 * 4

test('a batch that was taken is kept no more', () => {
  const spare = new SpareBatches(bytesOf(1024))
  const small = batch(128)
  spare.put(small)
  expect(spare.bytes).toBe(bytesOf(128))
  expect(spare.take(256)).toBeUndefined()
  expect(spare.take(128)).toBe(small)
  expect(spare.take(128)).toBeUndefined()
  expect(spare.bytes).toBe(0)
})

test('spare batches never hold more than their limit, and what was not used for longest goes first', () => {
  const spare = new SpareBatches(bytesOf(512))
  const [first, second, third] = [batch(128), batch(256), batch(256)]
  for (const each of [first, second, third]) spare.put(each)
  expect(spare.bytes).toBe(bytesOf(512))
  expect(spare.take(128)).toBeUndefined()
  expect(spare.take(256)).toBe(third)
  expect(spare.take(256)).toBe(second)
  spare.put(batch(1024))
  expect(spare.bytes).toBe(0)
})
