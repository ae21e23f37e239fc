import { expect, test } from 'vitest'
import { simulatedClock } from '../../machine/services/clock.testing.ts'
import { withClock } from '../../machine/services/clock.ts'
import { Retries, type Sent } from './retries.ts'

const plain: Sent = {
  parts: ['/v1/chat/completions', 'Bearer k', '{}'],
  key: undefined,
  isRetry: false,
  mayReturn: false,
  signal: new AbortController().signal,
}

/** Answers that are numbered in the order in which they were begun, each when the test says so. */
function asking() {
  const retries = new Retries()
  const begun: { readonly signal: AbortSignal; readonly end: (failure?: Error) => void }[] = []
  return {
    begun,
    ask: (wish: Partial<Sent> = {}) =>
      retries.answer({ ...plain, ...wish }, (signal) => {
        const { promise, resolve, reject } = Promise.withResolvers<string>()
        const number = begun.length + 1
        const end = (failure?: Error) =>
          failure === undefined ? resolve(`answer ${number}`) : reject(failure)
        begun.push({ signal, end })
        return promise
      }),
  }
}

// [RETRIES-1]
test('requests with a key are sampled once, in progress or done, and another body is refused', async () => {
  const { ask, begun } = asking()
  const answers = [ask({ key: 'a' }), ask({ key: 'a' })]
  begun[0]?.end()
  expect(await Promise.all([...answers, ask({ key: 'a' })])).toEqual(Array(3).fill('answer 1'))
  await expect(ask({ key: 'a', parts: ['/v1/chat/completions', 'Bearer k', '{ }'] })).rejects.toThrow(
    'Idempotency-Key',
  )
  const other = ask({ key: 'a', parts: ['/v1/chat/completions', 'Bearer other', '{}'] })
  begun[1]?.end()
  expect(await other).toBe('answer 2')
})

// [RETRIES-2]
test('a retry gets the answer that no client received, else the newest; equal requests are sampled each', async () => {
  const { ask, begun } = asking()
  const leaving = new AbortController()
  const left = ask({ mayReturn: true, signal: leaving.signal })
  const stayed = ask()
  leaving.abort()
  await expect(left).rejects.toThrow()
  for (const { end } of begun) end()
  expect(await stayed).toBe('answer 2')
  expect(await ask({ isRetry: true })).toBe('answer 1')
  expect(await ask({ isRetry: true })).toBe('answer 2')
  const first = ask({ isRetry: true, parts: ['/v1/messages', 'Bearer k', '{}'] })
  const again = ask({ isRetry: true, parts: ['/v1/messages', 'Bearer k', '{}'] })
  begun[2]?.end()
  expect(await Promise.all([first, again])).toEqual(['answer 3', 'answer 3'])
})

// [RETRIES-3]
test('a failure is tried again', async () => {
  const { ask, begun } = asking()
  const failed = ask({ key: 'a' })
  begun[0]?.end(new Error('the engine crashed'))
  await expect(failed).rejects.toThrow('crashed')
  const again = ask({ key: 'a' })
  begun[1]?.end()
  expect(await again).toBe('answer 2')
})

// [RETRIES-4]
test('sampling ends with the last client, a while later where it may return', async () => {
  const clock = simulatedClock()
  await withClock(clock, async () => {
    const { ask, begun } = asking()
    const [one, two, three] = [new AbortController(), new AbortController(), new AbortController()]
    const answers = Promise.allSettled([
      ask({ key: 'a', signal: one.signal }),
      ask({ key: 'a', signal: two.signal }),
      ask({ key: 'b', signal: three.signal, mayReturn: true }),
    ])
    one.abort()
    three.abort()
    await clock.advance(9000)
    expect(begun.map(({ signal }) => signal.aborted)).toEqual([false, false])
    const back = ask({ key: 'b' })
    two.abort()
    await clock.advance(9000)
    expect(begun.map(({ signal }) => signal.aborted)).toEqual([true, false])
    begun[1]?.end()
    expect(await back).toBe('answer 2')
    expect((await answers).map(({ status }) => status)).toEqual(Array(3).fill('rejected'))
  })
})
