import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { ApplicationFailure } from '@temporalio/common'
import { describe, expect, it } from 'vitest'
import { createCalls, givenUpSignal } from './stopping.ts'

const stopping = { type: 'WorkerStopping', nonRetryable: false }
const never = new Promise<never>(() => {})

/** Calls with one activity, which does the work of its argument. */
function calls(graceMs: number) {
  const all = createCalls(graceMs / 1000)
  const { call } = all.untilStopping({ call: (work: () => Promise<unknown>) => work() })
  return { ...all, call: call as (work: () => Promise<unknown>) => Promise<unknown> }
}

describe('the calls of a worker that stops', () => {
  it('pass on what they give while it works', async () => {
    const { call } = calls(0)
    await expect(call(() => Promise.resolve(3))).resolves.toBe(3)
    await expect(call(() => Promise.reject(new Error('lost')))).rejects.toThrow('lost')
  })

  it('do not begin afterwards [STOP-1]', async () => {
    const { call, stop } = calls(0)
    stop()
    let begun = false
    await expect(call(async () => (begun = true))).rejects.toMatchObject(stopping)
    expect(begun).toBe(false)
  })

  it('may end for a moment, and are given up then, for the next worker to do again [STOP-2]', async () => {
    const { call, stop } = calls(30)
    const { promise: gate, resolve: open } = Promise.withResolvers<string>()
    const [quick, endless] = [call(() => gate), call(() => never)]
    endless.catch(() => undefined)
    stop()
    open('ended')
    await expect(quick).resolves.toBe('ended')
    await expect(endless).rejects.toMatchObject(stopping)
  })

  it('receive a signal when they are given up, and not before [STOP-5]', async () => {
    const { call, stop, settled } = calls(0)
    expect(givenUpSignal()).toBeUndefined()
    let signal: AbortSignal | undefined
    const work = call(async () => {
      signal = givenUpSignal()
      await once(signal ?? new EventTarget(), 'abort')
    })
    await expect(Promise.race([work, sleep(20, 'working')])).resolves.toBe('working')
    stop()
    await expect(work).rejects.toMatchObject(stopping)
    await settled(60_000)
    expect(signal?.aborted).toBe(true)
  })

  it('are done again when they fail meanwhile, whatever of [STOP-3]', async () => {
    const { call, stop } = calls(60_000)
    const { promise: gate, reject: fail } = Promise.withResolvers<never>()
    const work = call(() => gate)
    stop()
    fail(ApplicationFailure.nonRetryable('the trainer was closed'))
    await expect(work).rejects.toMatchObject(stopping)
  })

  it('can be waited for when they were given up, for as long as the caller likes [STOP-4]', async () => {
    const { call, stop, settled } = calls(0)
    const { promise: gate, resolve: open } = Promise.withResolvers<void>()
    const work = call(() => gate)
    work.catch(() => undefined)
    stop()
    await expect(work).rejects.toMatchObject(stopping)
    await settled(1)
    const ended = settled(60_000).then(() => 'settled')
    await expect(Promise.race([ended, sleep(20, 'working')])).resolves.toBe('working')
    open()
    await expect(ended).resolves.toBe('settled')
  })
})
