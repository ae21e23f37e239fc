import { asyncLocalStorage, CancelledFailure, type Context } from '@temporalio/activity'
import { expect, it } from 'vitest'
import { callInProgress, timed } from './call-in-progress.ts'

function within(cancelling: AbortController) {
  const context = { cancellationSignal: cancelling.signal, info: { attempt: 3 } } as unknown as Context
  return asyncLocalStorage.run(context, callInProgress)
}

// [CALL-PROGRESS-1]
it('a call is no longer wanted once it is cancelled, but is let end by a worker that stops', () => {
  const [cancelled, stopped] = [new AbortController(), new AbortController()]
  const [one, other] = [within(cancelled), within(stopped)]
  expect(one).toMatchObject({ attempt: 3, signal: { aborted: false } })
  cancelled.abort(new CancelledFailure('CANCELLED'))
  stopped.abort(new CancelledFailure('WORKER_SHUTDOWN'))
  expect(one.signal.aborted).toBe(true)
  expect(one.signal.reason).toBeInstanceOf(CancelledFailure)
  expect(other.signal.aborted).toBe(false)
})

it('a call has one signal, however often it is asked for', () => {
  const cancelling = new AbortController()
  expect(within(cancelling).signal).toBe(within(cancelling).signal)
})

it('work of a call is measured, with the try that it belongs to', async () => {
  const context = { info: { attempt: 3 } } as unknown as Context
  const { result, took } = await asyncLocalStorage.run(context, () => timed(async () => 'done'))
  expect(result).toBe('done')
  expect(took).toEqual({ seconds: expect.any(Number), attempt: 3 })
  expect(took.seconds).toBeGreaterThanOrEqual(0)
})
