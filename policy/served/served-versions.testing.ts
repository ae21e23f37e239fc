/** Versions that are adapters over one small base, for tests of servers that load them. */
import { join } from 'node:path'
import { uniforms } from '../../identity/identity.ts'
import type { AdapterTarget } from '../../learning/loss/adapter-targets.ts'
import { publishCheckpoint, readCheckpoint } from '../checkpoints/checkpoint.ts'
import { randomWeights } from '../sampler/random-weights.testing.ts'
import { compactAddedTokens } from '../templates/compact-template.ts'
import { trainTokenizer } from '../tokenizer/byte-pair-training.ts'
import { initializeAdapter } from '../trainer/initial-checkpoint.ts'
import type { Architecture } from '../transformer/architecture.ts'

/** Heads of 32: the smallest that vLLM's kernels know. */
export const servedArchitecture: Architecture = {
  vocab_size: 320,
  hidden_size: 64,
  intermediate_size: 96,
  num_hidden_layers: 2,
  num_attention_heads: 2,
  num_key_value_heads: 1,
  head_dim: 32,
  rope_theta: 10000,
  rms_norm_eps: 1e-5,
  tie_word_embeddings: true,
  max_position_embeddings: 4096,
}
export const servedVersions: readonly number[] = [0, 1, 2]

/** Publishes the base and the versions, each in a folder of its own; version 0 is the base. */
export async function publishServedVersions(root: string, targets: readonly AdapterTarget[]): Promise<void> {
  const dirOf = (version: number | 'base'): string => join(root, String(version))
  await publishCheckpoint(dirOf('base'), {
    architecture: servedArchitecture,
    weights: randomWeights(servedArchitecture, uniforms(3)),
    tokenizer: trainTokenizer([], { vocabularySize: 320, addedTokens: compactAddedTokens([]) }),
    state: { version: 0, step: 0, chat: 'compact', facts: {} },
  })
  await initializeAdapter(dirOf(0), {
    baseDir: dirOf('base'),
    shape: { rank: 4, alpha: 8, targets },
    seed: 1,
  })
  const first = await readCheckpoint(dirOf(0))
  for (const version of servedVersions.slice(1)) {
    const next = uniforms(version)
    const entries = [...(first.adapter?.weights ?? [])]
    const weights = new Map(entries.map(([name, data]) => [name, data.map(() => 0.3 * (next() - 0.5))]))
    const adapter = first.adapter && { ...first.adapter, weights }
    await publishCheckpoint(dirOf(version), { ...first, adapter, state: { ...first.state, version } })
  }
}
