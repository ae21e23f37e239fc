/**
 * Logprobs of given tokens under a checkpoint, by the graph that training uses.
 *
 * Invariants
 * - They are those that the objective sees for the same weights, temperature and tokens.
 */

import type { LogprobsRequest } from '../trainer.ts'
import { microBatches } from './micro-batch.ts'
import { checkVocabulary } from './training-batch.ts'
import { evaluate, type TrainerContext } from './update.ts'

/** @returns [N] natural logarithms, 0 where the mask is 0 @throws TrainerFault, CheckpointFault, RuntimeFault */
export async function evaluateLogprobs(
  { graphs, memory }: TrainerContext,
  request: LogprobsRequest,
): Promise<Float32Array> {
  const policy = await memory.frozen(request.checkpointDir)
  checkVocabulary(request.tokens, policy.architecture, 'the tokens given')
  const logprobs = new Float32Array(request.tokens.length)
  const micros = microBatches(request, graphs.tokenLimit(policy.architecture, request.microBatchTokens))
  const results = await evaluate(graphs, policy, micros, request.temperature)
  for (const [index, { sources }] of micros.entries())
    for (const [row, source] of sources.entries()) logprobs[source] = results[index]!.logprobs[row]!
  return logprobs
}
