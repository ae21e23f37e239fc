/**
 * The chat of a checkpoint: its tokenizer and its format, read from the checkpoint's own files.
 *
 * Invariants
 * - The files are checked against the checkpoint's manifest before they are used.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { verifyCheckpoint } from '../checkpoints/checkpoint.ts'
import { Tokenizer } from '../tokenizer/tokenizer.ts'
import { Chat } from './chat.ts'

/** @throws CheckpointFault `missing`, `corrupt`, `foreign`, `io` */
export async function openChat(checkpointDir: string): Promise<Chat> {
  const { chat } = await verifyCheckpoint(checkpointDir)
  const file = join(checkpointDir, 'tokenizer.json')
  return new Chat(chat, Tokenizer.parse(await readFile(file, 'utf8'), file))
}
