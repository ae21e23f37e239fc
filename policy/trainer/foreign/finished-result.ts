/**
 * The result of work that was done before: found in the checkpoint that it published.
 *
 * Invariants
 * - Work asked for again is not done again, and its statistics are those of the first time.
 * - A checkpoint of another version under the asked name is refused, never taken for the result.
 */
import type { z } from 'zod'
import { verifyCheckpoint } from '../../checkpoints/checkpoint.ts'
import { CheckpointFault } from '../../files/checkpoint-fault.ts'
import { TrainerFault } from '../trainer.ts'

/**
 * Statistics in a finished checkpoint.
 * @returns undefined where there is no complete checkpoint
 * @throws TrainerFault `bad_checkpoint` when another one is there
 */
export async function finishedResult<Statistics>(
  dir: string,
  version: number,
  schema: z.ZodType<Statistics>,
): Promise<Statistics | undefined> {
  let state: Awaited<ReturnType<typeof verifyCheckpoint>>
  try {
    state = await verifyCheckpoint(dir)
  } catch (cause) {
    // Broken or absent: the work is done and replaces it.
    if (cause instanceof CheckpointFault && cause.kind !== 'io') return undefined
    throw cause
  }
  const statistics = schema.safeParse(state.facts.statistics)
  if (state.version !== version || !statistics.success)
    throw new TrainerFault(
      'bad_checkpoint',
      `${dir} holds another checkpoint (version ${state.version}), expected none or the result for version ${version}: choose another folder`,
    )
  return statistics.data
}
