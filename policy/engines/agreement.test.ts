/** Sampling and training agree on the same tokens, engine by engine. The real vLLM's is in `vllm-server.test.ts`. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { uniforms } from '../../identity/identity.ts'
import { llamaServerMissing } from '../../test/peers/llama-server.ts'
import { publishCheckpoint } from '../checkpoints/checkpoint.ts'
import {
  engineOver,
  publishServed,
  servedArchitecture,
  startServed,
} from '../dialects/llama-engine.testing.ts'
import { createEmbeddedEngine } from '../embedded-engine/embedded.ts'
import { randomWeights } from '../sampler/random-weights.testing.ts'
import type { Architecture } from '../transformer/architecture.ts'
import { agreementLine, measureAgreement } from './agreement.testing.ts'

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

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'agreement-'))
  onTestFinished(() => rm(made, { recursive: true, force: true }))
  return made
}

it('the embedded engine’s logprobs and the trainer’s agree to 1e-5 in the mean over whole episodes', async () => {
  const dir = join(await folder(), '0')
  await publishCheckpoint(dir, {
    architecture,
    weights: randomWeights(architecture, uniforms(3)),
    tokenizer: '{}',
    state: { version: 0, step: 0, chat: 'compact', facts: {} },
  })
  const engine = await createEmbeddedEngine({ threads: 1, maxBatch: 8, contextLength: 512 })
  onTestFinished(() => engine.close())
  await engine.load(0, dir)
  const agreement = await measureAgreement(engine, new Map([[0, dir]]), architecture.vocab_size)
  console.log(agreementLine('embedded', agreement))
  expect(agreement.tokens).toBeGreaterThan(100)
  expect(agreement.mean).toBeLessThan(1e-5)
  expect(agreement.largest).toBeLessThan(1e-4)
  expect(agreement.beyondClip).toBe(0)
})

it.skipIf(llamaServerMissing() !== undefined)(
  'the logprobs of llama.cpp’s server and the trainer’s agree to 1e-4 in the mean over whole episodes',
  async () => {
    const root = await folder()
    const dir = join(root, '0')
    await publishServed(dir, 0)
    const server = await startServed(root)
    onTestFinished(() => server.close())
    const engine = await engineOver(server.url)
    onTestFinished(() => engine.close())
    await engine.load(0, dir)
    // Its last token is never sampled, and ends a text.
    const agreement = await measureAgreement(engine, new Map([[0, dir]]), servedArchitecture.vocab_size - 1)
    console.log(agreementLine('llama.cpp', agreement))
    expect(agreement.tokens).toBeGreaterThan(100)
    expect(agreement.mean).toBeLessThan(1e-4)
    expect(agreement.beyondClip).toBe(0)
  },
)
