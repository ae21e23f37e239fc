/**
 * Reading what is to be learnt from.
 *
 * Invariants
 * - A file that cannot be used is distinguished from a disk that could not be read: only the first is final.
 */
import { CheckpointFault } from '../../files/checkpoint-fault.ts'
import { isIn } from '../../tokenizer/tokenless-ids.ts'
import type { Architecture } from '../../transformer/architecture.ts'
import type { UpdateBatch } from '../batch.ts'
import { readUpdateBatch } from '../batch-file.ts'
import { TrainerFault } from '../trainer.ts'

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
  checkLearnt(batch, architecture, file)
  return batch
}

/** An id without a token may stand in a context; its probability is 0, so it cannot be learnt. @throws TrainerFault `bad_batch` */
function checkLearnt(
  { tokens, lossMask, imitation }: UpdateBatch,
  { tokenless }: Architecture,
  source: string,
): void {
  for (const [index, token] of tokens.entries())
    if (isIn(tokenless, token) && (lossMask[index] === 1 || (imitation?.[index] ?? 0) > 0))
      throw new TrainerFault(
        'bad_batch',
        `${source}: tokens[${index}] is ${token} and is to be learnt, and the tokenizer has no token of this id`,
      )
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
