/**
 * A gradient thread: it runs its share of a batch's micro-batches, and of the step that follows, on one core.
 *
 * Invariants
 * - One share at a time, in the order in which they came.
 * - A share ends with the results of its last run, or with a fault.
 */
import { parentPort } from 'node:worker_threads'
import { reasonOf } from '../../../faults/reason.ts'
import { endWhenAsked } from '../../graph/computing-thread.ts'
import { clear } from './gradient-sum.ts'
import type { ShareMessage, ShareReport, TaskMessage } from './gradient-thread.ts'
import { GraphSessions, runsOf, weightFeeds } from './graph-sessions.ts'
import { performTask } from './weight-task.ts'

const sessions = new GraphSessions(1)

function report(message: ShareReport): void {
  parentPort?.postMessage(message)
}

async function perform({ share, architecture, kind, weights, sums, works }: ShareMessage): Promise<void> {
  try {
    const feeds = weightFeeds(architecture, weights)
    if (sums !== undefined) clear(sums)
    for (const run of runsOf(works)) {
      const results = await sessions.run(architecture, kind, feeds, run, sums)
      report({ share, report: 'results', results })
    }
  } catch (cause) {
    report({ share, report: 'fault', message: reasonOf(cause) })
  }
}

let last = Promise.resolve()
endWhenAsked()
parentPort?.on('message', (message: ShareMessage | TaskMessage | string) => {
  if (typeof message === 'string') return // asked to end
  last = last.then(async () => {
    if ('works' in message) await perform(message)
    else report({ share: message.share, report: 'task', numbers: performTask(message.task) })
  })
})
