import { expect, it } from 'vitest'
import { uniforms } from '../../identity/identity.ts'
import { createInferenceSession } from '../graph/runtime.ts'
import type { Architecture } from '../transformer/architecture.ts'
import { buildDecodeGraph } from '../transformer/decode-graph.ts'
import { smallArchitecture } from '../transformer/small-architecture.testing.ts'
import { layerInputs } from '../transformer/weight-inputs.ts'
import { int64Cells } from './batch.ts'
import { fuseWeights } from './fused-weights.ts'
import { randomWeights } from './random-weights.testing.ts'

const architecture: Architecture = {
  ...smallArchitecture,
  vocab_size: 12,
  hidden_size: 8,
  intermediate_size: 16,
  tie_word_embeddings: false,
}

it('only the query projection is changed, by the attention’s scale, a power of two here', () => {
  const weights = randomWeights(architecture, uniforms(1))
  const fused = fuseWeights(architecture, weights, 1)
  const part = (name: string): Float32Array => weights.get(`model.layers.1.${name}.weight`) as Float32Array
  const projection = fused[layerInputs(1).queryKeyValue]
  expect(projection?.dims).toEqual([16 + 8 + 8, 8])
  const query = part('self_attn.q_proj').map((weight) => weight / 2) // 1/√4
  expect([...(projection?.data ?? [])]).toEqual([
    ...query,
    ...part('self_attn.k_proj'),
    ...part('self_attn.v_proj'),
  ])
  expect([...(fused[layerInputs(1).gateUp]?.data ?? [])]).toEqual([
    ...part('mlp.gate_proj'),
    ...part('mlp.up_proj'),
  ])
})

it('wider heads have their numbers in the first places of each half, and zeros in the others', () => {
  const weights = randomWeights(architecture, uniforms(1))
  const fused = fuseWeights(architecture, weights, 1, 8)
  const key = weights.get('model.layers.0.self_attn.k_proj.weight') as Float32Array
  const projection = fused[layerInputs(0).queryKeyValue]
  expect(projection?.dims).toEqual([32 + 16 + 16, 8])
  const firstKey = [...(projection?.data.subarray(32 * 8, 40 * 8) ?? [])]
  const zeros = new Array(2 * 8).fill(0)
  expect(firstKey).toEqual([...key.subarray(0, 2 * 8), ...zeros, ...key.subarray(2 * 8, 4 * 8), ...zeros])
  const out = weights.get('model.layers.0.self_attn.o_proj.weight') as Float32Array
  const attentionOut = fused[layerInputs(0).attentionOut]
  expect(attentionOut?.dims).toEqual([8, 32])
  expect([...(attentionOut?.data.subarray(0, 8) ?? [])]).toEqual([
    ...[out[0], out[1], 0, 0],
    ...[out[2], out[3], 0, 0],
  ])
})

it.each([
  ['one thread', architecture, 1],
  ['two threads, whose narrow products are cut in blocks', { ...architecture, intermediate_size: 300 }, 2],
])('every input that the graphs declare for weights is there under its name: %s', async (_, a, threads) => {
  const fused = fuseWeights(a, randomWeights(a, uniforms(1)), threads)
  const session = await createInferenceSession(buildDecodeGraph(a, threads), { threads })
  for (const name of Object.keys(fused)) expect(session.inputNames).toContain(name)
  const others = session.inputNames.filter((name) => !(name in fused) && !/^(key|value)\.\d+$/.test(name))
  expect(new Set(others)).toEqual(
    new Set(['ids', 'lengths', 'capacity', 'cos', 'sin', 'inverse_temperature', 'uniform', 'greedy']),
  )
  await session.release()
})

it('a weight that is missing or of another size is named', () => {
  const weights = new Map(randomWeights(architecture, uniforms(1)))
  weights.set('model.layers.0.mlp.up_proj.weight', new Float32Array(3))
  expect(() => fuseWeights(architecture, weights, 1)).toThrow(
    'model.layers.0.mlp.up_proj.weight: expected 128',
  )
  weights.delete('lm_head.weight')
  expect(() => fuseWeights(architecture, weights, 1)).toThrow('lm_head.weight: expected 96 numbers, got none')
})

it('an int64 cell is its low half as long as only small non-negative numbers are written', () => {
  const { data, low } = int64Cells(3)
  low[2] = 2147483647
  low[4] = 5
  expect([...data]).toEqual([0n, 2147483647n, 5n])
})
