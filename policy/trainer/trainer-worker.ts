/**
 * The worker thread of the embedded trainer.
 *
 * Invariants
 * - One call at a time, in the order in which they came.
 * - Every call is answered once, with a result or a fault.
 */
import { workerData } from 'node:worker_threads'
import { serveCalls } from '../../machine/modules/thread-answers.ts'
import { CheckpointFault } from '../files/checkpoint-fault.ts'
import { endWhenAsked } from '../graph/computing-thread.ts'
import { RuntimeFault } from '../graph/runtime.ts'
import { PolicyGraphs } from './graphs/policy-graphs.ts'
import { PolicyMemory } from './graphs/policy-memory.ts'
import { TrainerFault } from './trainer.ts'
import type { TrainerWorkerData, TrainingMethods } from './trainer-messages.ts'
import { evaluateLogprobs } from './update/logprobs.ts'
import { runUpdate, type TrainerContext } from './update/update.ts'
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
  },
  (thrown) => new TrainerFault(kindOf(thrown), textOf(thrown)),
)

function kindOf(cause: unknown): TrainerFault['kind'] {
  if (cause instanceof TrainerFault) return cause.kind
  if (cause instanceof CheckpointFault) return cause.kind === 'io' ? 'storage' : 'bad_checkpoint'
  return cause instanceof RuntimeFault ? 'backend' : 'crashed'
}

function textOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  return kindOf(cause) === 'crashed' ? (cause.stack ?? cause.message) : cause.message
}
