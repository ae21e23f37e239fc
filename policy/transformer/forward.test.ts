import { describe, expect, test } from 'vitest'
import { uniforms } from '../../identity/identity.ts'
import { createInferenceSession, type Tensor, tensor } from '../graph/runtime.ts'
import { type Architecture, elementCount, weightSpecs } from './architecture.ts'
import { causalLimits } from './attention.ts'
import { initialWeights } from './initialization.ts'
import { objectiveGraph } from './objective-graph.ts'
import { rotaryTables } from './rope.ts'
import { smallArchitecture } from './small-architecture.testing.ts'

const architecture: Architecture = { ...smallArchitecture, tie_word_embeddings: false }
const time = 16
const weights = initialWeights(architecture, 4)

/** Logprobs of the last targets of two sequences, and the gradient of the first layer's keys. */
async function train(blocks: number, tokens: readonly number[], rows: readonly number[]) {
  const session = await createInferenceSession(objectiveGraph(architecture, 'supervised', blocks), {
    threads: 1,
  })
  const { cosines, sines, negativeSines } = rotaryTables(architecture, time)
  const half = [time, architecture.head_dim / 2]
  const feeds: Record<string, Tensor> = {
    tokens: tensor('int64', BigInt64Array.from(tokens, BigInt), [tokens.length / time, time]),
    rows: tensor('int64', BigInt64Array.from(rows, BigInt), [rows.length]),
    targets: tensor(
      'int64',
      BigInt64Array.from(rows, () => 3n),
      [rows.length],
    ),
    mask: tensor('float32', causalLimits(time), [time, time]),
    cosines: tensor('float32', cosines, half),
    sines: tensor('float32', sines, half),
    negative_sines: tensor('float32', negativeSines, half),
    inverse_temperature: tensor('float32', Float32Array.of(1), []),
    weights: tensor('float32', new Float32Array(rows.length).fill(1), [rows.length]),
  }
  for (const { name, shape } of weightSpecs(architecture))
    feeds[name] = tensor('float32', weights.get(name) as Float32Array, shape)
  const results = await session.run(feeds)
  await session.release()
  return {
    logprobs: results.logprobs?.data as Float32Array,
    keys: results['gradient.model.layers.0.self_attn.k_proj.weight']?.data as Float32Array,
  }
}

const next = uniforms(1)
const tokens = Array.from({ length: 2 * time }, () => Math.floor(next() * architecture.vocab_size))

describe('forward', () => {
  test('the number of attention blocks changes no result beyond rounding', async () => {
    const rows = [2, 9, 15, 20, 31]
    const one = await train(1, tokens, rows)
    for (const blocks of [2, 4, 8]) {
      const cut = await train(blocks, tokens, rows)
      for (const [i, logprob] of one.logprobs.entries()) expect(cut.logprobs[i]).toBeCloseTo(logprob, 5)
      for (const [i, gradient] of one.keys.entries()) expect(cut.keys[i]).toBeCloseTo(gradient, 5)
    }
  })

  test('no query sees a later key, so padding on the right changes nothing', async () => {
    const rows = [5, 16 + 7]
    const given = await train(4, tokens, rows)
    const padded = tokens.map((token, i) => (i % time > (i < time ? 5 : 7) ? 0 : token))
    expect((await train(4, padded, rows)).logprobs).toEqual(given.logprobs)
  })

  test('hidden states come back for the rows asked for, whichever else are asked for', async () => {
    const all = await train(4, tokens, [1, 8, 30])
    const one = await train(4, tokens, [8])
    expect(one.logprobs[0]).toBeCloseTo(all.logprobs[1] as number, 5)
  })
})

describe('rotaryTables', () => {
  test('angles are exact at far positions', () => {
    const { cosines, sines } = rotaryTables({ head_dim: 4, rope_theta: 100 }, 5001)
    // pair 1 of 2: θ^(−1/2) = 1/10
    expect(cosines[5000 * 2 + 1]).toBe(Math.fround(Math.cos(500)))
    expect(sines[5000 * 2]).toBe(Math.fround(Math.sin(5000)))
  })
})

describe('initialWeights', () => {
  test('the same architecture and seed give the same bytes, another seed others', () => {
    expect(initialWeights(architecture, 4)).toEqual(weights)
    expect(initialWeights(architecture, 5)).not.toEqual(weights)
  })

  test('a weight does not depend on which others there are', () => {
    const tied = initialWeights({ ...architecture, tie_word_embeddings: true, num_hidden_layers: 2 }, 4)
    const name = 'model.layers.0.self_attn.q_proj.weight'
    expect(tied.get(name)).toEqual(weights.get(name))
  })

  test('matrices have the deviation that their fan-in asks for and norms are one', () => {
    const large = { ...architecture, hidden_size: 64, vocab_size: 512 }
    for (const { name, shape } of weightSpecs(large)) {
      const weight = initialWeights(large, 7).get(name) as Float32Array
      const deviation = Math.hypot(...weight) / Math.sqrt(elementCount(shape))
      if (shape.length === 1) expect(deviation).toBe(1)
      else if (name.endsWith('embed_tokens.weight')) expect(deviation).toBeCloseTo(0.02, 3)
      else if (name.endsWith('o_proj.weight')) expect(deviation).toBeCloseTo(0.5 / Math.sqrt(16), 1)
      else if (name.endsWith('lm_head.weight')) expect(deviation).toBeCloseTo(1 / 8, 2)
    }
  })
})
