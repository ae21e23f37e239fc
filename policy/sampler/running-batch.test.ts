import { describe, expect, it } from 'vitest'
import type { Tensor } from '../graph/runtime.ts'
import type { Architecture } from '../transformer/architecture.ts'
import { Batch } from './batch.ts'
import { Job } from './job.ts'
import { RunningBatch } from './running-batch.ts'

const architecture: Architecture = {
  vocab_size: 10,
  hidden_size: 8,
  intermediate_size: 8,
  num_hidden_layers: 2,
  num_attention_heads: 2,
  num_key_value_heads: 2,
  head_dim: 4,
  rope_theta: 10000,
  rms_norm_eps: 1e-5,
  tie_word_embeddings: true,
  max_position_embeddings: 128,
}
const floatsPerPosition = 2 * 2 * 2 * 4

function jobOf(id: number): Job {
  const request = {
    cacheKey: `${id}`,
    context: Int32Array.of(1, 2),
    borders: [],
    version: 0,
    maxNewTokens: 4,
  }
  return new Job(id, { ...request, temperature: 1, stopTokens: [], seed: id }, 4)
}

/** The contents of a slot, as a stored context of capacity 128. */
function contentOf(batch: Batch, slot: number): Float32Array {
  const stored = new Float32Array(128 * floatsPerPosition)
  batch.save(slot, stored, 128, 0, batch.lengths[slot] as number)
  return stored
}

function filled(length: number, start: number): Float32Array {
  const stored = new Float32Array(128 * floatsPerPosition)
  for (
    let block = 0;
    block < 8;
    block++ // [2·layers · heads], then positions
  )
    for (let i = 0; i < length * 4; i++) stored[block * 128 * 4 + i] = start + block * 1000 + i
  return stored
}

describe('a batch', () => {
  it('shows a decode step exactly the positions a slot holds, and writes within its capacity', () => {
    const batch = new Batch(architecture, 128, 3)
    const visible = (): number[] => {
      const { lengths } = batch.decodeStep(3).feeds as { lengths: Tensor<'int32'> }
      return [...lengths.data]
    }
    expect(visible()).toEqual([0, 0, 0])
    batch.setLength(1, 3)
    expect(visible()).toEqual([0, 3, 0])
    batch.lengthen(1)
    expect(visible()).toEqual([0, 4, 0])
    batch.setLength(1, 1)
    batch.setLength(2, 128) // full: it has moved to a larger batch
    expect(visible()).toEqual([0, 1, 127])
  })

  it('gives back what was put into a slot, and nothing of its neighbours, across capacities', () => {
    const small = new Batch(architecture, 128, 3)
    const large = new Batch(architecture, 256, 2)
    for (const slot of [0, 1, 2]) small.restore(slot, filled(20 + slot, slot * 1e5), 128, 20 + slot)
    expect(contentOf(small, 1)).toEqual(filled(21, 1e5))
    small.copyTo(large, 1, 0)
    small.copyTo(small, 2, 1)
    expect(contentOf(large, 0)).toEqual(filled(21, 1e5))
    expect(contentOf(small, 1)).toEqual(filled(22, 2e5))
    expect(contentOf(small, 0)).toEqual(filled(20, 0))
  })
})

describe('a running batch', () => {
  it('takes cache, phase and turn along when ranks close, and leaves at most a fifth of the read slots free', () => {
    const running = new RunningBatch(new Batch(architecture, 128, 12))
    for (let id = 0; id < 12; id++) {
      const slot = running.seat(jobOf(id), 'prefilling')
      running.batch.restore(slot, filled(1, id * 1e5), 128, 1)
    }
    for (const slot of [0, 1, 2, 3, 10]) running.startDecoding(slot)
    for (const slot of [0, 1, 2, 4, 5, 6, 7]) running.vacate(slot)
    running.closeRanks()
    const seated = [...running.entries()]
    expect(seated.map(([, job]) => job.id).sort((a, b) => a - b)).toEqual([3, 8, 9, 10, 11])
    expect(running.width - seated.length).toBeLessThanOrEqual(running.width / 5)
    for (const [slot, job] of seated) {
      expect(contentOf(running.batch, slot)).toEqual(filled(1, job.id * 1e5))
      expect(running.isDecoding(slot)).toBe([3, 10].includes(job.id))
    }
    expect(running.pending(false).map(({ slot }) => running.jobAt(slot).id)).toEqual([8, 9, 11])
    expect([running.prefilling, running.decoding, running.full, running.empty]).toEqual([3, 2, false, false])
  })
})
