/**
 * The policy with which a run starts: a given checkpoint, or a fresh one with a tokenizer made for its tasks.
 *
 * Invariants
 * - The same configuration gives the same bytes.
 * - The head of the vocabulary shares the embedding; the width is divided evenly among the heads.
 */
import { join } from 'node:path'
import type { RunConfig } from '../../config/schema/schema.ts'
import { type Chat, createChat } from '../../policy/chat/chat.ts'
import { publishCheckpoint } from '../../policy/checkpoints/checkpoint.ts'
import { outlinePretrained, type PolicyOutline, readPretrained } from '../../policy/checkpoints/pretrained.ts'
import { CheckpointFault } from '../../policy/files/checkpoint-fault.ts'
import { compactAddedTokens } from '../../policy/templates/compact-template.ts'
import { trainTokenizer } from '../../policy/tokenizer/byte-pair-training.ts'
import { Tokenizer } from '../../policy/tokenizer/tokenizer.ts'
import { initializeCheckpoint } from '../../policy/trainer/initial-checkpoint.ts'
import { type Architecture, beyondWindow } from '../../policy/transformer/architecture.ts'
import { type DemonstratedEpisode, textsOf, toolsOf } from './demonstrations.ts'

/**
 * Publishes the first checkpoint; one that is there already is kept.
 * @param log receives the ways in which a model's own chat template differs from a run's needs
 * @throws CheckpointFault
 */
export async function firstCheckpoint(
  dir: string,
  config: RunConfig,
  episodes: readonly DemonstratedEpisode[],
  log: (line: string) => void,
): Promise<void> {
  if (config.policy.from !== undefined)
    await fromPretrained(dir, config.policy.from, config.policy.contextLength, log)
  else await fromScratch(dir, config, episodes)
}

/** Refuses a policy whose chat does not work, or not at such length: later each turn would fail. */
async function fromPretrained(
  dir: string,
  folder: string,
  contextLength: number,
  log: (line: string) => void,
): Promise<void> {
  const policy = await readPretrained(folder)
  const { architecture, weights, tokenizer, chat, modelChat } = policy
  const { notes, stopTokens } = await fittingChat(folder, policy, contextLength)
  for (const note of notes) log(`${folder}: ${note}`)
  await publishCheckpoint(dir, {
    ...{ architecture, weights, tokenizer },
    // The template's own end token is among them, so that other programs stop there too.
    modelChat: modelChat && { ...modelChat, ends: stopTokens },
    state: { version: 0, step: 0, chat, facts: { kind: 'pretrained' } },
  })
}

/** Whether a run can start from the folder, without reading the numbers of its weights. @throws CheckpointFault */
export async function checkPretrained(folder: string, contextLength: number): Promise<void> {
  await fittingChat(folder, await outlinePretrained(folder), contextLength)
}

/** @throws CheckpointFault `foreign` */
async function fittingChat(
  folder: string,
  { architecture, tokenizer, ...spoken }: PolicyOutline,
  contextLength: number,
): Promise<Chat> {
  const beyond = beyondWindow(architecture, contextLength)
  if (beyond !== undefined)
    throw new CheckpointFault('foreign', `${folder}: ${beyond}: lower policy.contextLength`)
  const file = join(folder, 'tokenizer.json')
  try {
    return await createChat(spoken, Tokenizer.parse(tokenizer, file))
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
    copies: policy.initialization === 'copying',
  })
}

/** @param vocabularySize tokens of the tokenizer, which may be fewer than were asked for */
export function freshArchitecture(policy: RunConfig['policy'], vocabularySize: number): Architecture {
  return {
    vocab_size: vocabularySize,
    hidden_size: policy.hiddenSize,
    intermediate_size: policy.intermediateSize,
    num_hidden_layers: policy.layers,
    num_attention_heads: policy.heads,
    num_key_value_heads: policy.keyValueHeads,
    head_dim: policy.hiddenSize / policy.heads,
    rope_theta: 10_000,
    rms_norm_eps: 1e-5,
    tie_word_embeddings: true,
    max_position_embeddings: policy.contextLength,
  }
}
