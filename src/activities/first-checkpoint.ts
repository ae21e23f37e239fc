/**
 * The policy that a run starts from: a given checkpoint, or a fresh one with a tokenizer made for its tasks.
 *
 * Invariants
 * - The same configuration gives the same bytes.
 */
import type { RunConfig } from '../config/schema.ts'
import { compactAddedTokens } from '../policy/chat/compact-template.ts'
import { publishCheckpoint } from '../policy/checkpoints/checkpoint.ts'
import { readPretrained } from '../policy/checkpoints/pretrained.ts'
import { trainTokenizer } from '../policy/tokenizer/byte-pair-training.ts'
import { Tokenizer } from '../policy/tokenizer/tokenizer.ts'
import { initializeCheckpoint } from '../policy/trainer/initial-checkpoint.ts'
import { type DemonstratedEpisode, textsOf, toolsOf } from './demonstrations.ts'
import { freshArchitecture } from './fresh-architecture.ts'

/** Publishes the first checkpoint; one that is there already is kept. @throws CheckpointFault */
export async function firstCheckpoint(
  dir: string,
  config: RunConfig,
  episodes: readonly DemonstratedEpisode[],
): Promise<void> {
  if (config.policy.from !== undefined) await fromPretrained(dir, config.policy.from)
  else await fromScratch(dir, config, episodes)
}

async function fromPretrained(dir: string, folder: string): Promise<void> {
  const { architecture, weights, tokenizer } = await readPretrained(folder)
  await publishCheckpoint(dir, {
    architecture,
    weights,
    tokenizer,
    state: { version: 0, step: 0, chat: 'hermes', facts: { kind: 'pretrained' } },
  })
}

async function fromScratch(
  dir: string,
  { policy, seed }: RunConfig,
  episodes: readonly DemonstratedEpisode[],
): Promise<void> {
  const tokenizer = trainTokenizer(textsOf(episodes), {
    vocabularySize: policy.vocabularySize,
    addedTokens: compactAddedTokens(toolsOf(episodes)),
  })
  const { vocabularySize } = Tokenizer.parse(tokenizer)
  await initializeCheckpoint(dir, {
    architecture: freshArchitecture(policy, vocabularySize),
    tokenizer,
    chat: 'compact',
    seed,
  })
}
