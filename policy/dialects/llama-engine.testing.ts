/**
 * llama.cpp's real server of a small policy, and the engine over it.
 *
 * Invariants
 * - The server samples every token but the last one, which it takes for the end of a text.
 */
import { join } from 'node:path'
import { uniforms } from '../../identity/identity.ts'
import { type LlamaServer, startLlamaServer } from '../../test/peers/llama-server.ts'
import { publishCheckpoint } from '../checkpoints/checkpoint.ts'
import type { Engine } from '../engines/engine.ts'
import { randomWeights } from '../sampler/random-weights.testing.ts'
import type { Architecture, Weights } from '../transformer/architecture.ts'
import { writeGguf } from './gguf.testing.ts'
import { llamaCppEngine } from './llama-cpp.ts'

/** The architecture of the policies that are served. */
export const servedArchitecture: Architecture = {
  vocab_size: 64,
  hidden_size: 16,
  intermediate_size: 32,
  num_hidden_layers: 2,
  num_attention_heads: 2,
  num_key_value_heads: 2,
  head_dim: 8,
  rope_theta: 10000,
  rms_norm_eps: 1e-5,
  tie_word_embeddings: true,
  max_position_embeddings: 256,
}

/** Ends a text for llama.cpp's server, wherever it is sampled: it never is. */
const neverSampled = servedArchitecture.vocab_size - 1

/** Publishes a version of random weights. */
export async function publishServed(checkpointDir: string, version: number): Promise<void> {
  await publishCheckpoint(checkpointDir, {
    architecture: servedArchitecture,
    weights: weightsOf(version),
    tokenizer: '{}',
    state: { version, step: version, chat: 'compact', facts: {} },
  })
}

/** Random weights; hidden states keep a first place above 0, by which the last token is e^−50 as likely as others. */
function weightsOf(version: number): Weights {
  const weights = randomWeights(servedArchitecture, uniforms(version))
  const embedding = weights.get('model.embed_tokens.weight') as Float32Array
  for (let token = 0; token < servedArchitecture.vocab_size; token++)
    embedding[token * servedArchitecture.hidden_size] = token === neverSampled ? -30 : 3
  return weights
}

/** Starts the server of version 0. @param folder where its model is written */
export async function startServed(folder: string): Promise<LlamaServer> {
  const model = join(folder, 'model.gguf')
  const { vocab_size: vocabulary, max_position_embeddings: contextLength } = servedArchitecture
  await writeGguf(model, servedArchitecture, weightsOf(0), {
    tokens: Array.from({ length: vocabulary }, (_, id) => String.fromCodePoint(0x100 + id)),
    controls: [neverSampled],
    merges: [],
    end: neverSampled,
  })
  return await startLlamaServer(model, { contextLength, slots: 4 })
}

/** The engine over a server. */
export function engineOver(url: string): Promise<Engine> {
  return llamaCppEngine.open({
    run: 'contract',
    urls: [url],
    apiKey: undefined,
    threads: 1,
    contextLength: servedArchitecture.max_position_embeddings,
    exact: false,
    trains: false,
    answerMs: 120_000,
    log: () => undefined,
  })
}
