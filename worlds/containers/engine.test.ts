import type { Readable } from 'node:stream'
import { afterEach, expect, test, vi } from 'vitest'
import { engineThat } from './engine.testing.ts'
import { EngineLate } from './engine.ts'

afterEach(() => vi.useRealTimers())

/** Once the call has reached the engine, the time passes that it has. */
async function lateAfter(call: Promise<unknown>, asked: Promise<unknown>, ms: number): Promise<unknown> {
  const ended = call.then(
    () => 'answered',
    (error: unknown) => error,
  )
  await asked
  vi.advanceTimersByTime(ms - 1)
  expect(await Promise.race([ended, new Promise((resolve) => setImmediate(() => resolve('waits')))])).toBe(
    'waits',
  )
  vi.advanceTimersByTime(1)
  return ended
}

type Docker = Awaited<ReturnType<typeof engineThat>>['docker']
const calls: readonly [string, number, (docker: Docker) => Promise<unknown>][] = [
  ['a look', 30_000, (docker) => docker.getContainer('c').inspect({ size: true } as object)],
  ['a pause', 30_000, (docker) => docker.getContainer('c').pause()],
  ['a program', 30_000, (docker) => docker.getExec('e').start({ hijack: true, stdin: false })],
  [
    'a connection',
    30_000,
    (docker) => docker.getContainer('c').attach({ stream: true, hijack: true, stdin: true }),
  ],
  ['files', 30_000, (docker) => docker.getContainer('c').getArchive({ path: '/' })],
  ['a start', 120_000, (docker) => docker.getContainer('c').start()],
  ['a removal', 120_000, (docker) => docker.getContainer('c').remove({ force: true })],
]

test.each(calls)('an engine that never answers is late: %s', async (_, ms, call) => {
  const asked = Promise.withResolvers<void>()
  const { docker } = await engineThat(() => asked.resolve())
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const error = await lateAfter(call(docker), asked.promise, ms)
  expect(error).toBeInstanceOf(EngineLate)
  expect(String(error)).toMatch(new RegExp(`no answer to (?:GET|POST|DELETE) /\\S+ in ${ms / 1000} s$`))
})

test('an answer that begins and never ends is late', async () => {
  const asked = Promise.withResolvers<void>()
  const { docker } = await engineThat((_, response) => {
    response.writeHead(200, { 'Content-Type': 'application/json' })
    response.write('{"Id":', () => asked.resolve())
  })
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  expect(await lateAfter(docker.getContainer('c').inspect(), asked.promise, 30_000)).toBeInstanceOf(
    EngineLate,
  )
})

test('files that never end are late, and the connection is cut', async () => {
  const cut = Promise.withResolvers<void>()
  const { docker } = await engineThat((_, response) => {
    response.on('close', () => cut.resolve())
    response.write('some')
  })
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const tar = (await docker.getContainer('c').getArchive({ path: '/' })) as Readable
  const ended = tar.toArray().catch((error: unknown) => error)
  vi.advanceTimersByTime(30_000)
  expect(await ended).toBeInstanceOf(EngineLate)
  await cut.promise
})

test('an answer in time is an answer, and leaves no timer', async () => {
  const { docker } = await engineThat((_, response) => {
    response.setHeader('Content-Type', 'application/json')
    response.end('{"Id":"c"}')
  })
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  expect(await docker.getContainer('c').inspect()).toEqual({ Id: 'c' })
  expect(vi.getTimerCount()).toBe(0)
})
