/**
 * The checkpoint that a run starts from.
 *
 * Invariants
 * - The same architecture, seed and tokenizer give the same bytes.
 * - It carries no moments: optimizing starts afresh (a checkpoint at step 0 is never asked for them).
 */

import { publishCheckpoint } from '../checkpoints/checkpoint.ts'
import type { ChatFormat } from '../templates/chat-format.ts'
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
