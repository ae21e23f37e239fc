/**
 * The policy that a run starts from: a given checkpoint, or a fresh one with a tokenizer made for its tasks.
 *
 * Invariants
 * - The same configuration gives the same bytes.
 */
import { join } from 'node:path'
import type { RunConfig } from '../config/schema.ts'
import { Chat } from '../policy/chat/chat.ts'
import { compactAddedTokens } from '../policy/chat/compact-template.ts'
import { type ChatFormat, publishCheckpoint } from '../policy/checkpoints/checkpoint.ts'
import { CheckpointFault } from '../policy/checkpoints/checkpoint-fault.ts'
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

/** What cannot be talked to is refused here: later each turn would fail of it. */
async function fromPretrained(dir: string, folder: string): Promise<void> {
  const { architecture, weights, tokenizer, chat } = await readPretrained(folder)
  refuseMisfit(folder, chat, tokenizer)
  await publishCheckpoint(dir, {
    architecture,
    weights,
    tokenizer,
    state: { version: 0, step: 0, chat, facts: { kind: 'pretrained' } },
  })
}

/** @throws CheckpointFault `foreign` */
function refuseMisfit(folder: string, chat: ChatFormat, tokenizer: string): void {
  const file = join(folder, 'tokenizer.json')
  try {
    new Chat(chat, Tokenizer.parse(tokenizer, file))
  } catch (cause) {
    if (!(cause instanceof CheckpointFault)) throw cause
    const advice = 'name the folder of a checkpoint of a run, or of a policy that was published for chats'
    throw new CheckpointFault('foreign', `${file} does not fit: ${cause.message}; ${advice}`, { cause })
  }
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
