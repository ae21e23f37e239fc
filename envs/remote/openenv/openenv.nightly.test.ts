/** Real servers of openenv, unmodified: `PERDURE_ENVIRONMENTS_PYTHON` names a Python that has openenv and fastmcp. */
import { afterEach, describe, expect, it } from 'vitest'
import type { AssistantMessage } from '../../../messages/message.ts'
import { type PythonServer, pythonHas, startPython } from '../../../test/peers/python-server.ts'
import { remoteEnvironment } from '../remote-environment.ts'
import { playThrough } from './play-through.testing.ts'
import { plays } from './plays.testing.ts'
import { recordServer } from './recorded-server.testing.ts'

const guess = (number: number): AssistantMessage => ({
  role: 'assistant',
  content: '',
  tool_calls: [{ name: 'act', arguments: { number } }],
})

describe.skipIf(!pythonHas('openenv', 'fastmcp'))('a server of openenv', () => {
  const started: PythonServer[] = []
  afterEach(async () => {
    for (const server of started.splice(0)) await server.close()
  })

  async function start(program: string, places: number, port?: number): Promise<PythonServer> {
    const server = await startPython([`openenv/${program}.py`, 'PORT', String(places)], '/health', { port })
    started.push(server)
    return server
  }

  it.each(plays)(
    '$server is played to its end',
    async (play) => {
      const { url } = await start(play.server, 4)
      const between = await recordServer(play.server, 'openenv 0.10.0', url)
      try {
        await fetch(`${between.url}/list_environments`)
        await playThrough(play, between.url)
      } finally {
        await between.close()
      }
    },
    120_000,
  )

  it('serves 256 sessions of one process at once', async () => {
    const { url } = await start('typed', 256)
    const task = await remoteEnvironment(`openenv+${url}`, 'it').open({})
    const sessions = await Promise.all(Array.from({ length: 256 }, () => task.create()))
    await Promise.all(sessions.map((session, at) => session.reset(`train/${at}`)))
    const rewards = await Promise.all(
      sessions.map(async (session) => {
        for (let number = 1; number <= 20; number++) {
          const { reward, done } = await session.step(guess(number))
          if (done) return reward
        }
        return undefined
      }),
    )
    expect(rewards).toEqual(rewards.map(() => 1))
    await Promise.all(sessions.map((session) => session.close()))
  }, 240_000)

  it('that freezes or is killed loses its sessions within the limit, and is played again when it is back', async () => {
    const server = await start('typed', 8)
    const settings = { stepSeconds: 2, resetSeconds: 3 }
    const task = await remoteEnvironment(`openenv+${server.url}`, 'it', { settings }).open({ settings })
    const [stepping, resetting, killed] = await Promise.all([task.create(), task.create(), task.create()])
    await stepping.reset('train/0')
    await killed.reset('train/0')
    server.signal('SIGSTOP')
    await expect(stepping.step(guess(0))).rejects.toThrow(/did not answer step within 2 s/)
    await expect(resetting.reset('train/0')).rejects.toThrow(/within \d+(\.\d+)? s$/)
    server.signal('SIGCONT')
    expect(await killed.step(guess(0))).toMatchObject({ reward: 0, done: false })
    server.signal('SIGKILL')
    await expect(killed.step(guess(0))).rejects.toMatchObject({ kind: 'session_lost' })
    await expect(resetting.reset('train/0')).rejects.toMatchObject({ kind: 'backend' })
    await start('typed', 8, server.port)
    await resetting.reset('train/0')
    expect(await resetting.step(guess(0))).toMatchObject({ reward: 0 })
    for (const session of [stepping, resetting, killed]) await session.close()
  }, 240_000)
})
