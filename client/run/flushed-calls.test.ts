import { expect, it } from 'vitest'
import { flushedCalls } from './flushed-calls.ts'

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
