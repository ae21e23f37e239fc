/**
 * The checkpoint that a run starts from.
 *
 * Invariants
 * - The same architecture, seed and tokenizer give the same bytes.
 * - It carries no moments: optimizing starts afresh (a checkpoint at step 0 is never asked for them).
 * - It carries no moments and is at optimizer step 0, whatever is behind the base.
 */

import { basename, resolve } from 'node:path'
import { publishCheckpoint, readCheckpoint } from '../checkpoints/checkpoint.ts'
import { manifestHash } from '../checkpoints/manifest.ts'
import type { ChatFormat } from '../templates/chat-format.ts'
import { type AdapterShape, initialAdapter } from '../transformer/adapter.ts'
import type { Architecture } from '../transformer/architecture.ts'
import { copyingWeights } from '../transformer/copying-heads.ts'
import { initialWeights } from '../transformer/initialization.ts'

export interface InitialCheckpoint {
  readonly architecture: Architecture
  /** The text of `tokenizer.json`. */
  readonly tokenizer: string
  readonly chat: ChatFormat
  readonly seed: number
  /** Whether the first weights have heads that copy; random ones alone by default. */
  readonly copies?: boolean
}

/**
 * Publishes a fresh policy as version 0; one that is there already is kept.
 * @returns whether this call published it
 * @throws CheckpointFault
 */
export function initializeCheckpoint(dir: string, initial: InitialCheckpoint): Promise<boolean> {
  const { architecture, tokenizer, chat, seed, copies = false } = initial
  return publishCheckpoint(dir, {
    architecture,
    weights: (copies ? copyingWeights : initialWeights)(architecture, seed),
    tokenizer,
    state: { version: 0, step: 0, chat, facts: { kind: 'initial', seed } },
  })
}

/**
 * Publishes version 0 beside its base; one that is there already is kept.
 * @param baseDir a folder beside `dir`
 * @throws CheckpointFault
 */
export async function initializeAdapter(
  dir: string,
  { baseDir, shape, seed }: { readonly baseDir: string; readonly shape: AdapterShape; readonly seed: number },
): Promise<boolean> {
  const { architecture, weights, tokenizer, state, modelChat } = await readCheckpoint(baseDir)
  return publishCheckpoint(dir, {
    architecture,
    weights,
    adapter: {
      shape,
      weights: initialAdapter(architecture, shape, seed),
      base: { folder: basename(resolve(baseDir)), sha256: await manifestHash(baseDir) },
      baseWeights: weights,
    },
    tokenizer,
    modelChat,
    state: { version: 0, step: 0, chat: state.chat, facts: { kind: 'adapter', seed } },
  })
}
