/**
 * The thread in which the embedded engine computes: messages in, steps of the sampler, answers out.
 *
 * Invariants
 * - Messages are taken between steps, never during one.
 * - A fault of one request is answered to it alone; a fault of the runtime ends the thread.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { readCheckpoint } from '../checkpoints/checkpoint.ts'
import { endWhenAsked } from '../graph/computing-thread.ts'
import { type Ending, Sampler } from '../sampler/sampler.ts'
import {
  type Answer,
  type FromWorker,
  faultFields,
  type ToWorker,
  type WorkerOptions,
} from './embedded-messages.ts'

if (parentPort === null) throw new Error('this module runs as a worker thread: use createEmbeddedEngine')
const port = parentPort
const sampler = new Sampler(workerData as WorkerOptions)
let stepping = false

endWhenAsked()
port.on('message', (message: ToWorker) => {
  switch (message.type) {
    case 'load':
      answerWhenDone(message.id, load(message.version, message.checkpointDir))
      break
    case 'unload':
      sampler.unload(message.version)
      post([{ id: message.id, done: true }])
      break
    case 'sample':
      try {
        sampler.submit(message.id, message.request)
      } catch (fault) {
        post([{ id: message.id, fault: faultFields(fault) }])
      }
      break
    case 'cancel':
      sampler.cancel(message.id)
      break
    case 'release':
      sampler.release(message.cacheKey)
      break
    case 'statistics':
      post([{ id: message.id, statistics: sampler.statistics }])
      break
  }
  if (!stepping && sampler.busy) {
    stepping = true
    // After the messages that are here already, so that they share the first step.
    setImmediate(stepWhileBusy)
  }
})

async function stepWhileBusy(): Promise<void> {
  while (sampler.busy) {
    const endings = await sampler.step()
    if (endings.length > 0) post(endings.map(answerOf))
    // The port delivers between turns of the event loop, one of which each run of a session takes.
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
    post([{ id, done: true }])
  } catch (fault) {
    post([{ id, fault: faultFields(fault) }])
  }
}

function answerOf(ending: Ending): Answer {
  return 'result' in ending ? ending : { id: ending.id, fault: faultFields(ending.fault) }
}

function post(answers: readonly Answer[]): void {
  const message: FromWorker = { answers }
  const transfer = answers.flatMap((answer) =>
    'result' in answer
      ? [answer.result.tokens.buffer as ArrayBuffer, answer.result.logprobs.buffer as ArrayBuffer]
      : [],
  )
  port.postMessage(message, transfer)
}
