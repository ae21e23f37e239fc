/** A model whose vocabulary is larger than its tokenizer's: what is sampled from it, learnt, and asked of servers. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { uniforms } from '../../identity/identity.ts'
import { publishCheckpoint } from '../checkpoints/checkpoint.ts'
import { llamaCppProtocol } from '../dialects/llama-cpp.ts'
import { sglangProtocol } from '../dialects/sglang.ts'
import { vllmProtocol } from '../dialects/vllm.ts'
import { createEmbeddedEngine } from '../embedded-engine/embedded.ts'
import { randomWeights } from '../sampler/random-weights.testing.ts'
import { type AskCanary, checkCanary } from '../served/canary.ts'
import type { Alternative, Ask } from '../served/server-protocol.ts'
import { modelIn } from '../served/weights/served-model.ts'
import { writeUpdateBatch } from '../trainer/batch-file.ts'
import { createTrainer } from '../trainer/embedded.ts'
import type { Trainer } from '../trainer/trainer.ts'
import type { Architecture } from '../transformer/architecture.ts'

/** A quarter of its ids have no token: a hole, and the padded end. Large enough to be searched by blocks where it is drawn from. */
const [vocabulary, hole, end] = [2048, [300, 556], 1792] as const
const architecture: Architecture = {
  vocab_size: vocabulary,
  hidden_size: 32,
  intermediate_size: 64,
  num_hidden_layers: 1,
  num_attention_heads: 2,
  num_key_value_heads: 1,
  head_dim: 16,
  rope_theta: 10000,
  rms_norm_eps: 1e-5,
  tie_word_embeddings: true,
  max_position_embeddings: 256,
}
const hasNoToken = (id: number): boolean => (id >= hole[0] && id < hole[1]) || id >= end
const named = Array.from({ length: vocabulary }, (_, id) => id).filter((id) => !hasNoToken(id))
const tokenizer = JSON.stringify({ model: { vocab: Object.fromEntries(named.map((id) => [`t${id}`, id])) } })

let root: string
let trainer: Trainer
const at = (name: string): string => join(root, name)

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'tokenless-'))
  trainer = createTrainer({ threads: 1 })
  await publishCheckpoint(at('0'), {
    architecture,
    weights: randomWeights(architecture, uniforms(3)),
    tokenizer,
    state: { version: 0, step: 0, chat: 'compact', facts: {} },
  })
})
afterAll(async () => {
  await trainer.close()
  await rm(root, { recursive: true, force: true })
})

// [MASKED-1]
test.each([
  ['constant weights', undefined],
  ['weights that are fed', 1],
])('with %s no id without a token is sampled, and ratios to the trainer are exact', async (_, heldByEach) => {
  const engine = await createEmbeddedEngine({
    ...{ threads: 1, maxBatch: 16, contextLength: 128 },
    ...(heldByEach === undefined ? {} : { heldByEach }),
  })
  try {
    await engine.load(0, at('0'))
    const context = Int32Array.of(1, 2, 3)
    const sampled = await Promise.all(
      Array.from({ length: 12 }, (_, seed) =>
        engine.sample({
          ...{
            cacheKey: `${seed}`,
            context,
            borders: [],
            version: 0,
            maxNewTokens: 40,
            stopTokens: [],
            seed,
          },
          temperature: seed === 0 ? 0 : 1.5,
        }),
      ),
    )
    const drawn = sampled.flatMap(({ tokens }) => [...tokens])
    expect(drawn).toHaveLength(480)
    expect(drawn.filter(hasNoToken)).toEqual([])
    for (const { tokens, logprobs } of sampled.slice(1)) {
      const whole = Int32Array.from([...context, ...tokens])
      const trained = await trainer.logprobs({
        checkpointDir: at('0'),
        tokens: whole,
        offsets: Int32Array.of(0, whole.length),
        lossMask: Uint8Array.from(whole, (_, place) => (place < context.length ? 0 : 1)),
        temperature: 1.5,
        microBatchTokens: 256,
      })
      for (const [place, logprob] of logprobs.entries())
        expect(Math.abs(logprob - (trained[context.length + place] ?? 0))).toBeLessThan(1e-4)
    }
  } finally {
    await engine.close()
  }
})

test('an id without a token may be read, and is never learnt', async () => {
  const batch = {
    tokens: Int32Array.of(1, 400, 3, 4),
    offsets: Int32Array.of(0, 4),
    lossMask: Uint8Array.of(0, 0, 0, 1),
    behaviourLogprobs: Float32Array.of(0, 0, 0, -7),
    versions: Int32Array.of(-1, -1, -1, 0),
    advantages: Float32Array.of(0, 0, 0, 1),
  }
  const request = (name: string) => ({
    batchFile: at(name),
    fromCheckpointDir: at('0'),
    toCheckpointDir: at(`${name}-1`),
    version: 1,
    objective: {
      kind: 'policy' as const,
      ...{
        clipLow: 0.2,
        clipHigh: 0.2,
        dualClip: 3,
        klCoefficient: 0,
        entropyCoefficient: 0.01,
        temperature: 1,
      },
    },
    optimizer: {
      learningRate: 0.001,
      beta1: 0.9,
      beta2: 0.95,
      epsilon: 1e-8,
      weightDecay: 0,
      gradientClip: 1,
    },
    microBatchTokens: 256,
  })
  await writeUpdateBatch(at('read'), batch)
  const { loss, entropy } = await trainer.update(request('read'))
  expect(Number.isFinite(loss)).toBe(true)
  // Nearly all of the 1,536 tokens that there are, no more of 2,048.
  expect(entropy).toBeLessThan(Math.log(named.length))
  await writeUpdateBatch(at('learnt'), {
    ...batch,
    lossMask: Uint8Array.of(0, 1, 0, 1),
    versions: Int32Array.of(-1, 0, -1, 0),
  })
  await expect(trainer.update(request('learnt'))).rejects.toMatchObject({
    kind: 'bad_batch',
    message: expect.stringContaining('tokens[1] is 400'),
  })
})

test('what is known of a served model has the ids, and requests to servers leave them out', async () => {
  const { tokenless } = await modelIn(at('0'), 'demo@0')
  expect(tokenless).toEqual([hole, [end, vocabulary]])
  const ask: Ask = {
    ...{ context: Int32Array.of(1), maxNewTokens: 4, temperature: 1, seed: 1, stopTokens: [] },
    ...{ id: 'demo/x', alternatives: 0, excluded: [5, 7] },
  }
  expect(vllmProtocol.request(ask).body).toMatchObject({ logit_bias: { 5: -100, 7: -100 } })
  expect(vllmProtocol.request({ ...ask, weights: 'demo@1' }).body).toMatchObject({
    sampling_params: { logit_bias: { 5: -100, 7: -100 } },
  })
  expect(sglangProtocol.request(ask).body).toMatchObject({
    sampling_params: { logit_bias: { 5: -10_000, 7: -10_000 } },
  })
  expect(llamaCppProtocol.request(ask).body).toMatchObject({
    post_sampling_probs: true,
    logit_bias: [
      [5, false],
      [7, false],
    ],
  })
  for (const protocol of [vllmProtocol, sglangProtocol, llamaCppProtocol])
    expect(JSON.stringify(protocol.request({ ...ask, excluded: [] }).body)).not.toContain('logit_bias')
})

/** A server of five tokens, of which the last has no token. */
function serverOf({ leavesOut, renormalizes }: { leavesOut: boolean; renormalizes: boolean }): AskCanary {
  return async ({ excluded = [], temperature }) => {
    const scores = [2, 1.5, 1, 0.5, 0].map((score) => score / temperature)
    const logprobsOver = (ids: readonly number[]): Alternative[] => {
      const total = Math.log(ids.reduce((sum, id) => sum + Math.exp(scores[id] ?? 0), 0))
      return ids.map((token) => ({ token, logprob: (scores[token] ?? 0) - total }))
    }
    const all = [0, 1, 2, 3, 4]
    const kept = leavesOut ? all.filter((id) => !excluded.includes(id)) : all
    const reported = logprobsOver(renormalizes ? kept : all).filter(({ token }) => kept.includes(token))
    const [first = { token: 0, logprob: 0 }] = reported
    return { tokens: [first.token], logprobs: [first.logprob], alternatives: [reported] }
  }
}

// [CANARY-4]
test('a server that samples what a request excludes, or tells logprobs as if it did, is refused by name', async () => {
  const of = { name: 'vllm at x', advice: '', vocabulary: 5, excluded: [4] }
  await checkCanary(serverOf({ leavesOut: true, renormalizes: true }), of)
  for (const server of [
    { leavesOut: false, renormalizes: true },
    { leavesOut: true, renormalizes: false },
  ]) {
    await expect(checkCanary(serverOf(server), of)).rejects.toMatchObject({
      kind: 'another_model',
      message: expect.stringContaining('does not leave out the tokens that a request excludes'),
    })
    await checkCanary(serverOf(server), { ...of, excluded: undefined })
  }
})
