/** Following the workflows of a run: a result is that of the execution which took the place of the first. */
import { WorkflowFailedError } from '@temporalio/client'
import { ApplicationFailure, RetryState, TerminatedFailure } from '@temporalio/common'
import { expect, it } from 'vitest'
import type { evaluation } from '../../workflows/play/evaluation.ts'
import { flushedCalls, resultOf } from './run-calls.ts'

type Handle = Parameters<typeof resultOf<typeof evaluation>>[1]
const summary = { suite: 'held_out', version: 0, success: 1, n: 4, planned: 4 }

function ended(cause: Error): WorkflowFailedError {
  return new WorkflowFailedError('ended', cause, RetryState.NON_RETRYABLE_FAILURE)
}

/** The executions of one id, one after another. @param latest how the server describes the last of them */
function following(ends: readonly (Error | typeof summary)[], latest: string): Handle {
  const left = [...ends]
  return {
    async result() {
      const end = left.shift()
      if (end instanceof Error) throw end
      return end ?? summary
    },
    describe: async () => ({ status: { name: latest } }) as Awaited<ReturnType<Handle['describe']>>,
  }
}

it('[FOLLOWED-1] an evaluation that began again in a new execution has the result of that one', async () => {
  const given = ended(new TerminatedFailure('its history does not replay'))
  expect(await resultOf('evaluation e', following([given, given, summary], 'RUNNING'))).toEqual(summary)
  expect(await resultOf('evaluation e', following([given, summary], 'COMPLETED'))).toEqual(summary)
})

it.each([
  ['was terminated for good', ended(new TerminatedFailure('enough')), 'TERMINATED'],
  ['failed', ended(ApplicationFailure.nonRetryable('enough')), 'FAILED'],
])('an evaluation that %s ends without a result, with the reason', async (_, end, latest) => {
  await expect(resultOf('evaluation e', following([end], latest))).rejects.toMatchObject({
    kind: 'no_result',
    message: expect.stringMatching(/^evaluation e ended without a result: enough; ask for it again/),
  })
})

// [FLUSHED-CALLS-1]
it('each call that changes something flushes the store before it and the file of the server after it', async () => {
  const order: string[] = []
  const noting = (what: string) => ({
    flushed: async () => {
      order.push(what)
    },
  })
  const calls = flushedCalls(noting('store'), noting('server'))
  const next = async () => {
    order.push('call')
    return 'answer'
  }
  const names = Object.keys(calls) as (keyof typeof calls)[]
  expect(names).toEqual(expect.arrayContaining(['startWithDetails', 'signal', 'startUpdate', 'terminate']))
  for (const name of names) {
    order.length = 0
    const call = calls[name] as (input: unknown, next: () => Promise<string>) => Promise<string>
    expect(await call({}, next)).toBe('answer')
    expect(order).toEqual(['store', 'call', 'server'])
  }
})
