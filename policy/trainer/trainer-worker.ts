/**
 * The worker thread of the embedded trainer.
 *
 * Invariants
 * - One call at a time, in the order in which they came.
 * - Every call is answered once, with a result or a fault.
 * - They are those that the objective sees for the same weights, temperature and tokens.
 */
import { workerData } from 'node:worker_threads'
import { ExternalFault } from '../../machine/modules/external-module.ts'
import { serveCalls } from '../../machine/modules/thread-answers.ts'
import { CheckpointFault } from '../files/checkpoint-fault.ts'
import { endWhenAsked } from '../graph/computing-thread.ts'
import { RuntimeFault } from '../graph/runtime.ts'
import type { TrainerWorkerData, TrainingMethods } from './embedded.ts'
import { PolicyGraphs } from './graphs/policy-graphs.ts'
import { PolicyMemory } from './graphs/policy-memory.ts'
import { type LogprobsRequest, TrainerFault } from './trainer.ts'
import { microBatches } from './update/micro-batch.ts'
import { checkVocabulary } from './update/training-batch.ts'
import { evaluateValues } from './update/turn-values.ts'
import { evaluate, runUpdate, type TrainerContext } from './update/update.ts'
import { runWarmStart } from './update/warm-start.ts'

const { threads } = workerData as TrainerWorkerData
const context: TrainerContext = { graphs: new PolicyGraphs(threads), memory: new PolicyMemory() }

endWhenAsked()

serveCalls<TrainingMethods>(
  {
    update: (request, onProgress) => runUpdate(context, request, (...counts) => onProgress(counts)),
    warmStart: (request, onProgress, signal) =>
      runWarmStart(context, request, (...counts) => onProgress(counts), signal),
    logprobs: (request) => evaluateLogprobs(context, request),
    values: (request) => evaluateValues(context, request),
  },
  (thrown) => new TrainerFault(kindOf(thrown), textOf(thrown)),
)

function kindOf(cause: unknown): TrainerFault['kind'] {
  if (cause instanceof TrainerFault) return cause.kind
  if (cause instanceof CheckpointFault) return cause.kind === 'io' ? 'storage' : 'bad_checkpoint'
  if (cause instanceof ExternalFault) return 'bad_loss'
  return cause instanceof RuntimeFault ? 'backend' : 'crashed'
}

function textOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  return kindOf(cause) === 'crashed' ? (cause.stack ?? cause.message) : cause.message
}

/** @returns [N] natural logarithms, 0 where the mask is 0 @throws TrainerFault, CheckpointFault, RuntimeFault */
async function evaluateLogprobs(
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
