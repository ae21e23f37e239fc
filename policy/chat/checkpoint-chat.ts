/**
 * The chat of a checkpoint: its tokenizer and its format, read from the checkpoint's own files.
 *
 * Invariants
 * - The bytes used are those that the checkpoint's manifest vouches for; weights are not read.
 */
import { join } from 'node:path'
import { readCheckpointText } from '../checkpoints/checkpoint.ts'
import { Tokenizer } from '../tokenizer/tokenizer.ts'
import { Chat } from './chat.ts'

/** @throws CheckpointFault `missing`, `corrupt`, `foreign`, `io` */
export async function openChat(checkpointDir: string): Promise<Chat> {
  const { tokenizer, state } = await readCheckpointText(checkpointDir)
  return new Chat(state.chat, Tokenizer.parse(tokenizer, join(checkpointDir, 'tokenizer.json')))
}
