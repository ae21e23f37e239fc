import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { seedOf, uniforms } from '../../identity/identity.ts'
import { publishCheckpoint } from '../checkpoints/checkpoint.ts'
import { randomWeights } from '../sampler/random-weights.testing.ts'
import { createTrainer } from '../trainer/embedded.ts'
import type { Architecture } from '../transformer/architecture.ts'
import { createEmbeddedEngine } from './embedded.ts'

const architecture: Architecture = {
  vocab_size: 320,
  hidden_size: 64,
  intermediate_size: 128,
  num_hidden_layers: 3,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  head_dim: 16,
  rope_theta: 10000,
  rms_norm_eps: 1e-5,
  tie_word_embeddings: true,
  max_position_embeddings: 512,
}

it('the engine’s logprobs and the trainer’s agree to 1e-4 on the tokens of whole episodes', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'agreement-'))
  const engine = await createEmbeddedEngine({ threads: 1, maxBatch: 8, contextLength: 512 })
  const trainer = createTrainer({ threads: 1 })
  const temperature = 0.8
  try {
    await publishCheckpoint(join(dir, '0'), {
      architecture,
      weights: randomWeights(architecture, uniforms(3)),
      tokenizer: '{}',
      state: { version: 0, step: 0, chat: 'compact', facts: {} },
    })
    await engine.load(0, join(dir, '0'))
    const episodes = await Promise.all(
      Array.from({ length: 6 }, async (_, n) => {
        const draw = uniforms(seedOf(5, n))
        const tokens: number[] = []
        const mask: number[] = []
        const logprobs: number[] = []
        for (let turn = 0; turn < 4; turn++) {
          const observed = Array.from({ length: 10 + Math.floor(draw() * 40) }, () =>
            Math.floor(draw() * 320),
          )
          tokens.push(...observed)
          mask.push(...observed.map(() => 0))
          logprobs.push(...observed.map(() => 0))
          const context = Int32Array.from(tokens)
          const asked = {
            cacheKey: `${n}`,
            context,
            borders: [],
            version: 0,
            maxNewTokens: 12,
            temperature,
            stopTokens: [7],
          }
          const sampled = await engine.sample({ ...asked, seed: seedOf(1, n, turn) })
          tokens.push(...sampled.tokens)
          mask.push(...sampled.tokens.map(() => 1))
          logprobs.push(...sampled.logprobs)
        }
        return { tokens, mask, logprobs }
      }),
    )
    const offsets = [0]
    for (const { tokens } of episodes) offsets.push((offsets.at(-1) as number) + tokens.length)
    const trained = await trainer.logprobs({
      checkpointDir: join(dir, '0'),
      tokens: Int32Array.from(episodes.flatMap(({ tokens }) => tokens)),
      offsets: Int32Array.from(offsets),
      lossMask: Uint8Array.from(episodes.flatMap(({ mask }) => mask)),
      temperature,
      microBatchTokens: 1024,
    })
    const behaviour = episodes.flatMap(({ logprobs }) => logprobs)
    expect(behaviour.filter((logprob) => logprob !== 0).length).toBeGreaterThan(100)
    const differences = behaviour.map((logprob, i) => Math.abs(logprob - (trained[i] as number)))
    expect(Math.max(...differences)).toBeLessThan(1e-4)
  } finally {
    await Promise.all([engine.close(), trainer.close()])
    await rm(dir, { recursive: true, force: true })
  }
})
