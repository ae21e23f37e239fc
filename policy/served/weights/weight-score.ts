/**
 * Scores of a version's own weights, computed here: what a foreign server's logprobs are held against.
 *
 * Invariants
 * - Weights too large for that are not read.
 */
import { weightBytes } from '../../checkpoints/checkpoint.ts'
import type { Score } from '../canary.ts'

/** Weights, and as much again for the runtime, fit into the memory of any machine that trains. */
export const mostBytes = 4 * 2 ** 30

/**
 * Scores by the weights of a checkpoint; undefined where they are too large.
 * @throws CheckpointFault
 */
export async function weightScore(checkpointDir: string): Promise<Score | undefined> {
  if ((await weightBytes(checkpointDir)) > mostBytes) return undefined
  return async (context, tokens) => {
    // Loaded here alone, and for a moment: the trainer's thread ends with its answer.
    const { createTrainer } = await import('../../trainer/embedded.ts')
    const trainer = createTrainer({ threads: 1 })
    const whole = Int32Array.from([...context, ...tokens])
    try {
      const all = await trainer.logprobs({
        checkpointDir,
        tokens: whole,
        offsets: Int32Array.of(0, whole.length),
        lossMask: Uint8Array.from(whole, (_, at) => (at < context.length ? 0 : 1)),
        temperature: 1,
        microBatchTokens: 1024,
      })
      return all.slice(context.length)
    } finally {
      await trainer.close()
    }
  }
}
