/**
 * The worker thread of the embedded trainer.
 *
 * Invariants
 * - One call at a time, in the order in which they came.
 * - Every call is answered once, with a result or a fault.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { CheckpointFault } from '../checkpoints/checkpoint-fault.ts'
import { endWhenAsked } from '../graph/computing-thread.ts'
import { RuntimeFault } from '../graph/runtime.ts'
import { evaluateLogprobs } from './logprobs.ts'
import { PolicyGraphs } from './policy-graphs.ts'
import { PolicyMemory } from './policy-memory.ts'
import { TrainerFault } from './trainer.ts'
import type {
  MethodResult,
  TrainerCall,
  TrainerMethod,
  TrainerReport,
  TrainerWorkerData,
} from './trainer-messages.ts'
import { type Progress, runUpdate, type TrainerContext } from './update.ts'
import { runWarmStart } from './warm-start.ts'

const { threads } = workerData as TrainerWorkerData
const context: TrainerContext = { graphs: new PolicyGraphs(threads), memory: new PolicyMemory() }

function report(message: TrainerReport): void {
  parentPort?.postMessage(message)
}

function perform(call: TrainerCall, onProgress: Progress): Promise<MethodResult<TrainerMethod>> {
  switch (call.method) {
    case 'update':
      return runUpdate(context, call.request, onProgress)
    case 'warmStart':
      return runWarmStart(context, call.request, onProgress)
    case 'logprobs':
      return evaluateLogprobs(context, call.request)
  }
}

async function answer(message: TrainerCall): Promise<void> {
  const { call } = message
  try {
    const result = await perform(message, (done, total) => report({ call, report: 'progress', done, total }))
    report({ call, report: 'result', result })
  } catch (cause) {
    report({ call, report: 'fault', kind: kindOf(cause), message: textOf(cause) })
  }
}

function kindOf(cause: unknown): TrainerFault['kind'] {
  if (cause instanceof TrainerFault) return cause.kind
  if (cause instanceof CheckpointFault) return cause.kind === 'io' ? 'storage' : 'bad_checkpoint'
  return cause instanceof RuntimeFault ? 'backend' : 'crashed'
}

function textOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  return kindOf(cause) === 'crashed' ? (cause.stack ?? cause.message) : cause.message
}

let last = Promise.resolve()
endWhenAsked()
parentPort?.on('message', (call: TrainerCall) => {
  last = last.then(() => answer(call))
})
