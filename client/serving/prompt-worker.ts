/**
 * The thread that makes prompts of long requests.
 *
 * Invariants
 * - One request at a time, in the order in which they came. The encoders of the versions that were asked for last are kept.
 */
import { serveCalls } from '../../machine/modules/thread-answers.ts'
import { encodePrompt, openPromptEncoder, type PromptEncoder } from '../../policy/endpoint/prompt-encoder.ts'
import type { PromptMethods } from './prompt-thread.ts'

const encodersKept = 4
const encoders = new Map<string, PromptEncoder>()

serveCalls<PromptMethods>({
  async encode({ checkpointDir, words, most }) {
    return encodePrompt(await encoderOf(checkpointDir), words, most) ?? null
  },
})

async function encoderOf(checkpointDir: string): Promise<PromptEncoder> {
  const encoder = encoders.get(checkpointDir) ?? (await openPromptEncoder(checkpointDir))
  encoders.delete(checkpointDir)
  encoders.set(checkpointDir, encoder)
  for (const oldest of [...encoders.keys()].slice(0, -encodersKept)) encoders.delete(oldest)
  return encoder
}
