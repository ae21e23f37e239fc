import { afterEach, describe, expect, test, vi } from 'vitest'
import type { CounterRequest } from '../../test/host/thread-worker.ts'
import { ThreadPool } from './pool.ts'
import type { ThreadSession } from './session.ts'

const allowedMs = 120_000
vi.setConfig({ testTimeout: 120_000 })

let pool: ThreadPool<CounterRequest, number>
afterEach(() => pool.close())

interface Counter {
  readonly session: ThreadSession<CounterRequest, number>
  add(count: number): Promise<unknown>
  count(): Promise<unknown>
  spin(ms: number, allowed?: number): Promise<unknown>
  ask(kind: 'fill' | 'throw' | 'crash'): Promise<unknown>
}

async function counters(count: number, shared = 1): Promise<Counter[]> {
  const url = new URL('../../test/host/thread-worker.ts', import.meta.url)
  pool = new ThreadPool({ url, name: 'counters', heapMebibytes: 64, shared, sessionsOfThread: 100 })
  return Promise.all(Array.from({ length: count }, (_, counter) => opened(counter)))
}

async function opened(counter: number): Promise<Counter> {
  const session = pool.session({ open: { kind: 'open', counter }, close: { kind: 'close', counter } })
  await session.open()
  return {
    session,
    add(count) {
      const request = { kind: 'add', counter, count } as const
      return session.ask(request, allowedMs, () => ({ request, allowedMs }))
    },
    count: () => session.ask({ kind: 'count', counter }, allowedMs),
    spin: (ms, allowed = allowedMs) => session.ask({ kind: 'spin', counter, ms }, allowed),
    ask: (kind) => session.ask({ kind, counter }, allowedMs),
  }
}

const outOfTime = { kind: 'ended', ending: 'out of time' }
const reply = (count: number) => ({ kind: 'reply', reply: count })

describe('threads that sessions share', () => {
  test('eight sessions that hold their threads hold up no neighbour', async () => {
    const [neighbour, ...hostile] = await counters(9)
    await neighbour?.add(3)
    let ended = 0
    const spinning = Promise.allSettled(hostile.map(({ spin }) => spin(allowedMs).finally(() => ended++)))
    for (let time = 1; time <= 3; time++) {
      await neighbour?.add(1)
      expect(await neighbour?.count()).toEqual(reply(3 + time))
    }
    expect(ended).toBe(0)
    for (const { session } of hostile) session.close()
    for (const each of await spinning) expect(each).toMatchObject({ reason: { kind: 'session_lost' } })
    // The threads of their own are given back.
    await vi.waitFor(() => expect(pool.size).toBe(1), { timeout: 60_000 })
    expect(await neighbour?.count()).toEqual(reply(6))
  })

  test('whenever sessions are closed, what they run ends within seconds', async () => {
    for (const round of [0, 1, 2, 3]) {
      const [neighbour, ...hostile] = await counters(9)
      await neighbour?.add(1)
      const started = performance.now()
      const spinning = Promise.allSettled(hostile.map(({ spin }) => spin(allowedMs)))
      // At once, within the first slice, and while some have just been given a thread.
      for (let asked = 0; asked < round; asked++) expect(await neighbour?.count()).toEqual(reply(1))
      for (const { session } of hostile) session.close()
      for (const each of await spinning) expect(each).toMatchObject({ reason: { kind: 'session_lost' } })
      expect(performance.now() - started).toBeLessThan(allowedMs / 4)
      await pool.close()
    }
  })

  test('the time of a request begins with its work, whatever was asked before it', async () => {
    const [counter] = await counters(1)
    const started = performance.now()
    await counter?.add(1)
    expect(await counter?.spin(allowedMs, 200)).toEqual(outOfTime)
    expect(performance.now() - started).toBeLessThan(30_000)
    expect(await counter?.count()).toEqual(reply(1))
  })

  test('however many end their threads, again and again, only they lose by it', async () => {
    const [neighbour, ...hostile] = await counters(15)
    await neighbour?.add(1)
    for (let round = 0; round < 2; round++) {
      const spinning = hostile.map(({ spin }) => spin(allowedMs, 300))
      expect(await neighbour?.count()).toEqual(reply(1))
      expect(await Promise.all(spinning)).toEqual(hostile.map(() => outOfTime))
      expect(pool.size).toBeLessThanOrEqual(21)
    }
    for (const { count } of hostile) expect(await count()).toEqual(reply(0))
  })

  test.each(['fill', 'crash'] as const)(
    'a session that ends its thread by "%s" loses it alone',
    async (kind) => {
      const [neighbour, hostile] = await counters(2)
      await neighbour?.add(2)
      await hostile?.add(5)
      const lost = hostile?.ask(kind)
      const counted = neighbour?.count()
      expect(await counted).toEqual(reply(2))
      expect(await lost).toEqual({ kind: 'ended', ending: kind === 'fill' ? 'out of memory' : 'broken' })
      expect(await hostile?.count()).toEqual(reply(5))
      expect(await neighbour?.count()).toEqual(reply(2))
    },
  )

  test('what a thread cannot do is a fault of that session, and the thread lives on', async () => {
    const [neighbour, unlucky] = await counters(2)
    await expect(unlucky?.ask('throw')).rejects.toMatchObject({ kind: 'backend' })
    expect(await unlucky?.count()).toEqual(reply(0))
    expect(await neighbour?.count()).toEqual(reply(0))
  })

  test('a session that is short again shares its thread again', async () => {
    const [slow, neighbour] = await counters(2)
    const spinning = slow?.spin(400)
    await neighbour?.count()
    await spinning
    slow?.session.close()
    await vi.waitFor(() => expect(pool.size).toBe(1), { timeout: 60_000 })
  })

  test('a closed pool and a closed session refuse, and a module that cannot be loaded is a fault', async () => {
    const [counter] = await counters(1)
    counter?.session.close()
    counter?.session.close()
    await expect(counter?.count()).rejects.toMatchObject({ kind: 'session_lost' })
    await pool.close()
    await expect(opened(1)).rejects.toMatchObject({ kind: 'session_lost' })
    const url = new URL('./no-such-worker.ts', import.meta.url)
    pool = new ThreadPool({ url, name: 'none', heapMebibytes: 64, shared: 1, sessionsOfThread: 1 })
    await expect(opened(1)).rejects.toMatchObject({ kind: 'backend' })
  })
})
