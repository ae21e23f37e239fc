import { expect, test } from 'vitest'
import { simulatedClock } from '../../machine/services/clock.testing.ts'
import { withClock } from '../../machine/services/clock.ts'
import { streamOf } from './answer-stream.ts'
import { chatForm } from './forms/chat.ts'
import { RequestFault } from './request-fault.ts'

// [ANSWER-STREAM-1]
test('a stream speaks within a second, also when its turn takes a minute, and ends with the answer', async () => {
  const clock = simulatedClock()
  await withClock(clock, async () => {
    const answer = Promise.withResolvers<string>()
    const response = streamOf(chatForm, answer.promise)
    await clock.advance(999)
    const text = (await response).text()
    await clock.advance(59_000)
    answer.resolve('data: [DONE]\n\n')
    const events = (await text).split('\n\n').slice(0, -1)
    expect(events.length).toBeGreaterThan(10)
    expect(events.slice(0, -1).every((event) => event.startsWith(':'))).toBe(true)
    expect(events.at(-1)).toBe('data: [DONE]')
  })
})

test('an answer that comes at once is all of its stream', async () => {
  expect(await (await streamOf(chatForm, Promise.resolve('data: [DONE]\n\n'))).text()).toBe(
    'data: [DONE]\n\n',
  )
})

// [ANSWER-STREAM-2]
test('an early failure is thrown, and a late one ends the stream in the shape of its form', async () => {
  const clock = simulatedClock()
  await withClock(clock, async () => {
    const fault = new RequestFault('bad_request', 'no such tool', 'tools')
    await expect(streamOf(chatForm, Promise.reject(fault))).rejects.toBe(fault)
    const answer = Promise.withResolvers<string>()
    const response = streamOf(chatForm, answer.promise)
    await clock.advance(500)
    const text = (await response).text()
    answer.reject(fault)
    const error = {
      message: 'no such tool',
      type: 'invalid_request_error',
      param: 'tools',
      code: null,
    }
    expect((await text).split('\n\n').at(-2)).toBe(`data: ${JSON.stringify({ error })}`)
  })
})

test('a reader that leaves ends the events', async () => {
  const clock = simulatedClock()
  await withClock(clock, async () => {
    const answer = Promise.withResolvers<string>()
    const response = streamOf(chatForm, answer.promise)
    await clock.advance(500)
    await (await response).body?.cancel()
    await clock.advance(10_000)
    answer.resolve('late')
    await clock.advance(10_000)
  })
})
