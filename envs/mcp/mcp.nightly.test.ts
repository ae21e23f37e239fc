/** Servers of MCP, unmodified: `PERDURE_MCP_SERVERS` names a folder in which `npm install` has put them. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { AssistantMessage } from '../../messages/message.ts'
import { freePort } from '../../test/host/free-port.ts'
import { mcpEnvironment } from './mcp-environment.ts'
import { plays, playThrough } from './plays.testing.ts'
import { type Exchange, record, recordAddress } from './recorded-server.testing.ts'

const packages = join(process.env.PERDURE_MCP_SERVERS ?? '.', 'node_modules/@modelcontextprotocol')
const filesystem = join(packages, 'server-filesystem/dist/index.js')
const everything = join(packages, 'server-everything/dist/index.js')
const isRecording = process.env.PERDURE_RECORD === '1'
const words: AssistantMessage = { role: 'assistant', content: 'Done.' }

const started: ChildProcess[] = []
afterEach(async () => {
  for (const child of started.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    child.kill('SIGKILL')
    await once(child, 'close')
  }
})

/** @returns the address of the server over HTTP */
async function startEverything(): Promise<{ readonly url: string; readonly child: ChildProcess }> {
  const port = await freePort()
  const env = { ...process.env, PORT: String(port) }
  const child = spawn(process.execPath, [everything, 'streamableHttp'], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  started.push(child)
  child.stdout?.resume()
  for await (const said of child.stderr ?? []) if (String(said).includes('listening on port')) break
  return { url: `http://127.0.0.1:${port}/mcp`, child }
}

describe.skipIf(!existsSync(filesystem) || !existsSync(everything))('a server that is published', () => {
  it.each(plays)(
    'is played to its end: $server',
    async (play) => {
      if (play.server === 'server-filesystem') {
        const recorder = [join(import.meta.dirname, 'recorded-server.testing.ts'), play.server, play.of]
        const args = [...(isRecording ? [...recorder, process.execPath] : []), filesystem, '.']
        await playThrough(play, { command: process.execPath, args })
        return
      }
      const { url } = await startEverything()
      await playThrough(play, { url })
      if (!isRecording) return
      const exchanges: Exchange[] = []
      const between = await recordAddress(url, exchanges)
      await playThrough(play, { url: between.url })
      between.close()
      record(play.server, play.of, exchanges)
    },
    120_000,
  )

  it('serves 64 episodes at once over HTTP, and 8 in processes of their own', async () => {
    const { url } = await startEverything()
    const servers = [
      { count: 64, server: { url } },
      { count: 8, server: { command: process.execPath, args: [filesystem, '.'] } },
    ]
    for (const { count, server } of servers) {
      const task = await mcpEnvironment('many', {
        server,
        start: ({ index }) => ({ prompt: 'Go.', index }),
        grade: () => 1,
      }).open({})
      const sessions = await Promise.all(Array.from({ length: count }, () => task.create()))
      await Promise.all(sessions.map((session, at) => session.reset(`train/${at}`)))
      const ends = await Promise.all(sessions.map((session) => session.step(words)))
      expect(ends.every(({ reward }) => reward === 1)).toBe(true)
      await Promise.all(sessions.map((session) => session.close()))
      await task.close()
    }
  }, 240_000)

  it.each(['SIGSTOP', 'SIGKILL'] as const)(
    'that gets %s loses its sessions within the limit, and is played again when it is back',
    async (signal) => {
      const { url, child } = await startEverything()
      const task = await mcpEnvironment('lost', {
        server: { url },
        callSeconds: 2,
        startSeconds: 3,
        start: () => ({ prompt: 'Go.' }),
        grade: () => 1,
      }).open({})
      const [calling, ending, beginning] = await Promise.all([task.create(), task.create(), task.create()])
      await calling.reset('train/0')
      await ending.reset('train/0')
      child.kill(signal)
      const call = { ...words, tool_calls: [{ name: 'echo', arguments: { message: 'hi' } }] }
      await expect(calling.step(call)).rejects.toMatchObject({ kind: 'session_lost' })
      await expect(ending.step(words)).rejects.toMatchObject({ kind: 'session_lost' })
      await expect(beginning.reset('train/0')).rejects.toMatchObject({ kind: 'backend' })
      if (signal === 'SIGSTOP') {
        child.kill('SIGCONT')
        await beginning.reset('train/0')
        expect(await beginning.step(words)).toMatchObject({ reward: 1 })
      }
      for (const session of [calling, ending, beginning]) await session.close()
      await task.close()
    },
    60_000,
  )
})
