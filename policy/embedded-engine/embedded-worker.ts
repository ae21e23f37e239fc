/**
 * The thread in which the embedded engine computes: messages in, steps of the sampler, answers out.
 *
 * Invariants
 * - Messages are taken between steps, never during one.
 * - A fault of one request is answered to it alone; a fault of the runtime ends the thread.
 */
import { workerData } from 'node:worker_threads'
import { reasonOf } from '../../faults/reason.ts'
import { hearCalls } from '../../machine/modules/thread-answers.ts'
import { type Answer, type Call, faultFields } from '../../machine/modules/thread-calls.ts'
import { readCheckpoint } from '../checkpoints/checkpoint.ts'
import { EngineFault } from '../engines/engine.ts'
import { CheckpointFault } from '../files/checkpoint-fault.ts'
import { endWhenAsked } from '../graph/computing-thread.ts'
import { type Ending, Sampler } from '../sampler/sampler.ts'
import type { SamplingMethods, WorkerOptions } from './engine-thread.ts'

const sampler = new Sampler(workerData as WorkerOptions)
let stepping = false

endWhenAsked()
const answer = hearCalls<SamplingMethods>({
  onCall(call) {
    take(call)
    if (stepping || !sampler.busy) return
    stepping = true
    // After the messages that are here already, so that they share the first step.
    setImmediate(stepWhileBusy)
  },
  onCancel: (id) => sampler.cancel(id),
})

/** Only `release` comes without an id. */
function take({ id = 0, method, request }: Call<SamplingMethods>): void {
  switch (method) {
    case 'load':
      answerWhenDone(id, load(request.version, request.checkpointDir))
      break
    case 'unload':
      sampler.unload(request)
      answer([{ id, reply: undefined }])
      break
    case 'sample':
      try {
        sampler.submit(id, request)
      } catch (thrown) {
        answer([failed(id, thrown)])
      }
      break
    case 'release':
      sampler.release(request)
      break
    case 'statistics':
      answer([{ id, reply: sampler.statistics }])
      break
  }
}

async function stepWhileBusy(): Promise<void> {
  while (sampler.busy) {
    const endings = await sampler.step()
    if (endings.length > 0) answer(endings.map(answerOf), endings.flatMap(buffersOf))
    // The port delivers between turns of the event loop, one of which each run of a graph takes.
  }
  stepping = false
}

async function load(version: number, checkpointDir: string): Promise<void> {
  const { architecture, weights } = await readCheckpoint(checkpointDir)
  await sampler.load(version, architecture, weights)
}

async function answerWhenDone(id: number, work: Promise<void>): Promise<void> {
  try {
    await work
    answer([{ id, reply: undefined }])
  } catch (thrown) {
    answer([failed(id, thrown)])
  }
}

function answerOf(ending: Ending): Answer {
  return 'result' in ending ? { id: ending.id, reply: ending.result } : failed(ending.id, ending.fault)
}

/** Wraps unknown errors as EngineFault `backend`. */
function failed(id: number, thrown: unknown): Answer {
  const isOurs = thrown instanceof CheckpointFault || thrown instanceof EngineFault
  return { id, fault: faultFields(isOurs ? thrown : new EngineFault('backend', reasonOf(thrown))) }
}

function buffersOf(ending: Ending): ArrayBuffer[] {
  return 'result' in ending
    ? [ending.result.tokens.buffer as ArrayBuffer, ending.result.logprobs.buffer as ArrayBuffer]
    : []
}
