/** The rule of waiting, against a real server that is killed and comes back, and against calls whose answers are given. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, Connection } from '@temporalio/client'
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createOutageWait } from './outage.ts'
import { startTemporal } from './server/server.ts'

const unavailable = 14
const notFound = 5

/** The metadata of an answer. @param type of the failure, as the server gives it beside the status */
function metadataOf(type?: string) {
  const details = type === undefined ? [] : [Buffer.from(`\u0008\u0005type.googleapis.com/${type}`)]
  const metadata = { clone: () => metadata, get: () => details }
  return metadata
}
const metadata = metadataOf()

/** A call whose attempts fail with these statuses in turn, and then succeed. */
function callThrough(codes: readonly number[], options: { deadline?: number; failure?: string } = {}) {
  const sent: unknown[] = []
  const wait = createOutageWait()
  const [intercept] = wait.interceptors
  const left = [...codes]
  const send = () => ({
    start(_: unknown, listener: Record<string, (value: unknown) => void>) {
      const code = left.shift() ?? 0
      queueMicrotask(() => {
        listener.onReceiveMessage?.(code === 0 ? 'answer' : null)
        listener.onReceiveStatus?.({ code, details: '', metadata: metadataOf(options.failure) })
      })
    },
    sendMessage: (message: unknown) => sent.push(message),
    halfClose: () => undefined,
    cancelWithStatus: () => undefined,
  })
  const call = intercept?.(options as never, send as never)
  const { promise: ended, resolve } = Promise.withResolvers<unknown[]>()
  let answer: unknown
  call?.start(metadata as never, {
    onReceiveMessage: (message) => {
      answer = message
    },
    onReceiveStatus: ({ code }) => resolve([code, answer]),
  })
  call?.sendMessage('request')
  call?.halfClose()
  return { call, wait, ended, sent }
}

describe('a call', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('[OUTAGE-1] is made again, as the same request, for as long as the server cannot be reached', async () => {
    const hours = callThrough(Array.from({ length: 7200 }, () => unavailable))
    await vi.advanceTimersByTimeAsync(2 * 3_600_000)
    expect(await hours.ended).toEqual([0, 'answer'])
    expect(hours.sent).toHaveLength(7201)
    expect(new Set(hours.sent)).toEqual(new Set(['request']))
  })

  it('that the server refuses is made once', async () => {
    for (const failure of [undefined, 'temporal.api.errordetails.v1.NotFoundFailure']) {
      const { ended, sent } = callThrough([notFound], failure === undefined ? {} : { failure })
      expect(await ended).toEqual([notFound, null])
      expect(sent).toEqual(['request'])
    }
  })

  const failure = 'temporal.api.errordetails.v1.NamespaceNotFoundFailure'

  it('[OUTAGE-4] that a server answers, after it hung, with an unknown namespace is made again', async () => {
    const { ended, sent } = callThrough([unavailable, notFound, notFound], { failure })
    await vi.advanceTimersByTimeAsync(60_000)
    expect(await ended).toEqual([0, 'answer'])
    expect(sent).toHaveLength(4)
  })

  it('[OUTAGE-4] whose namespace stays unknown ends with that', async () => {
    const { ended, sent } = callThrough(
      Array.from({ length: 100 }, () => notFound),
      { failure },
    )
    await vi.advanceTimersByTimeAsync(600_000)
    expect(await ended).toEqual([notFound, null])
    expect(sent).toHaveLength(10)
  })

  it('[OUTAGE-4] that a server answers late after it hung, with its own deadline, is made again', async () => {
    for (const late of [1, 4]) {
      const { ended, sent } = callThrough([...Array.from({ length: 40 }, () => unavailable), late, late])
      await vi.advanceTimersByTimeAsync(120_000)
      expect(await ended).toEqual([0, 'answer'])
      expect(sent).toHaveLength(43)
    }
  })

  it('that fails otherwise is made as often as the client does by default', async () => {
    const unknown = 2
    const { ended, sent } = callThrough(Array.from({ length: 100 }, () => unknown))
    await vi.advanceTimersByTimeAsync(600_000)
    expect(await ended).toEqual([unknown, null])
    expect(sent).toHaveLength(10)
  })

  it('[OUTAGE-2] that is cancelled between two attempts ends at once', async () => {
    const { call, ended, sent } = callThrough([unavailable, unavailable])
    await vi.advanceTimersByTimeAsync(0)
    call?.cancelWithStatus(1, 'cancelled')
    expect(await ended).toEqual([1, null])
    await vi.advanceTimersByTimeAsync(600_000)
    expect(sent).toHaveLength(1)
  })

  it('[OUTAGE-2] whose deadline comes before the next attempt is tried at the deadline, which ends it', async () => {
    const deadlineExceeded = 4
    const { ended, sent } = callThrough([unavailable, deadlineExceeded], { deadline: Date.now() + 10 })
    await vi.advanceTimersByTimeAsync(10)
    expect(await ended).toEqual([deadlineExceeded, null])
    expect(sent).toHaveLength(2)
  })

  it('[OUTAGE-3] ends when the wait is ended, and is never made again', async () => {
    const { wait, ended, sent } = callThrough([unavailable, unavailable])
    await vi.advanceTimersByTimeAsync(0)
    wait.end()
    expect(await ended).toEqual([1, null])
    await vi.advanceTimersByTimeAsync(600_000)
    expect(sent).toHaveLength(1)
  })
})

describe('with a real server', () => {
  const home = mkdtempSync(join(tmpdir(), 'perdure-outage-'))
  afterAll(() => rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }))
  beforeEach(() => {
    vi.stubEnv('TEMPORAL_ADDRESS', undefined)
  })
  afterEach(() => {
    vi.unstubAllEnvs()
  })

  it('what follows a workflow continues after the server was killed, and ends when the connection is given up', async () => {
    const server = await startTemporal(home)
    const wait = createOutageWait()
    const connection = await Connection.connect({
      address: server.address,
      interceptors: [...wait.interceptors],
    })
    try {
      const { workflow } = new Client({ connection })
      const [first, second] = await Promise.all(
        ['first', 'second'].map((workflowId) =>
          workflow.start('none', { workflowId, taskQueue: 'none', workflowTaskTimeout: '1 minute' }),
        ),
      )
      const followed = first?.result().catch((error: Error) => error)
      const abandoned = second?.result().catch((error: Error) => error)
      process.kill(server.pid, 'SIGKILL')
      // The call waits for the server, which its users start again.
      await first?.terminate('it is over')
      expect(await followed).toMatchObject({ cause: { name: 'TerminatedFailure' } })
      wait.end()
      expect(await abandoned).toMatchObject({ cause: { code: 1 } })
    } finally {
      await connection.close()
      await server.close()
    }
  })
})
