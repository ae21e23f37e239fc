/**
 * Reading what is to be learnt from.
 *
 * Invariants
 * - A file that cannot be used is distinguished from a disk that could not be read: only the first is final.
 */
import { CheckpointFault } from '../checkpoints/checkpoint-fault.ts'
import type { Architecture } from '../transformer/architecture.ts'
import type { UpdateBatch } from './batch.ts'
import { readUpdateBatch } from './batch-file.ts'
import { TrainerFault } from './trainer.ts'

/** Reads a batch that fits the policy. @throws TrainerFault `bad_batch`; `storage` when the disk fails */
export async function readTrainingBatch(file: string, architecture: Architecture): Promise<UpdateBatch> {
  let batch: UpdateBatch
  try {
    batch = await readUpdateBatch(file)
  } catch (cause) {
    if (!(cause instanceof CheckpointFault)) throw cause
    throw new TrainerFault(cause.kind === 'io' ? 'storage' : 'bad_batch', cause.message, { cause })
  }
  checkVocabulary(batch.tokens, architecture, file)
  return batch
}

/** @throws TrainerFault `bad_batch` when a token is outside the vocabulary */
export function checkVocabulary(tokens: Int32Array, { vocab_size }: Architecture, source: string): void {
  for (const [index, token] of tokens.entries())
    if (token < 0 || token >= vocab_size)
      throw new TrainerFault(
        'bad_batch',
        `${source}: tokens[${index}] is ${token}, the policy's vocabulary has ${vocab_size}`,
      )
}
