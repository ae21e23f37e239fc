/** Servers of MCP that die, freeze and lie, during every kind of request: a named fault within its limit, and never a reward. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { isAlive } from '../../machine/processes/process.ts'
import type { AssistantMessage } from '../../messages/message.ts'
import { type Environment, EnvironmentFault, type Task } from '../contract/environment.ts'
import { methods, serveFaulty } from './faulty-server.testing.ts'
import type { McpEnvironment } from './mcp-definition.ts'
import { mcpEnvironment } from './mcp-environment.ts'

let task: Task | undefined
let session: Environment | undefined
afterEach(async () => {
  await session?.close()
  await task?.close()
  session = undefined
  task = undefined
})

const program = join(import.meta.dirname, 'faulty-server.testing.ts')
const grade = vi.fn(() => 1)
afterEach(() => grade.mockClear())
const call: AssistantMessage = {
  role: 'assistant',
  content: '',
  tool_calls: [{ name: 'say', arguments: {} }],
}
const words: AssistantMessage = { role: 'assistant', content: 'Done.' }

function environment(
  server: McpEnvironment<{ prompt: string }, undefined, never>['server'],
  seconds = 20,
): ReturnType<typeof mcpEnvironment> {
  return mcpEnvironment('faulty', {
    server,
    startedAhead: 0,
    startSeconds: seconds,
    callSeconds: seconds,
    start: () => ({ prompt: 'Go.' }),
    grade,
  })
}
const ofProgram = (method: string, trick: string) =>
  environment({ command: process.execPath, args: [program, method, trick] }, limitOf(trick))
const limitOf = (trick: string) => (trick === 'freeze' ? 3 : 20)

/** Opens it and plays a call. @returns the fault of the request that is wrong */
async function faultOf(definition: ReturnType<typeof mcpEnvironment>): Promise<EnvironmentFault> {
  const fault: unknown = await (async () => {
    task = await definition.open({})
    session = await task.create()
    await session.reset('train/0')
    return await session.step(call)
  })().catch((error: unknown) => error)
  if (!(fault instanceof EnvironmentFault)) throw new Error(`no fault: ${JSON.stringify(fault)}`)
  return fault
}

const each = (tricks: Readonly<Record<string, RegExp>>) =>
  methods.flatMap((method) => Object.entries(tricks).map(([trick, reason]) => ({ method, trick, reason })))

// [MCP-1] [MCP-3]
describe('a program that is asked', () => {
  it.each(
    each({
      die: /ended with code 3; its last words: the roof is on fire/,
      freeze: /did not answer \S+ within 3 s/,
      garbage: /no message of MCP: "hello"/,
      other: /broke the protocol: .*unknown message ID/,
      shapeless: /answered|refused the session/,
      nothing: /no message of MCP/,
    }).concat([
      { method: 'tools/list', trick: 'empty', reason: /answered tools\/list with "\{\}"/ },
      { method: 'tools/list', trick: 'pages', reason: /lists tools without end/ },
      { method: 'tools/call', trick: 'empty', reason: /answered tools\/call with "\{\}"/ },
      { method: 'tools/call', trick: 'endless', reason: /a line of more than 16777216 characters/ },
      { method: 'tools/call', trick: 'flood', reason: /wrote more than 10000 messages/ },
    ]),
  )('$method and does $trick is lost by its name', async ({ method, trick, reason }) => {
    const fault = await faultOf(ofProgram(method, trick))
    expect(fault.message).toMatch(reason)
    expect(fault.message).toContain('faulty-server.testing.ts')
    expect(fault).toMatchObject({
      kind: method === 'tools/call' ? 'session_lost' : 'backend',
      permanent: false,
    })
    if (method !== 'tools/call') return
    await expect(session?.step(words)).rejects.toMatchObject({ kind: 'session_lost' })
    expect(grade).not.toHaveBeenCalled()
    await session?.reset('train/1')
  })
})

it('ten thousand tools are refused by their number', async () => {
  await expect(ofProgram('tools/list', 'many').open({})).rejects.toThrow(
    /it offers 10000 tools, and an agent is given 128 at most/,
  )
})

// [MCP-1] [MCP-3]
describe('an address that is asked', () => {
  it.each(
    each({
      die: /fetch failed|other side closed|socket hang up|terminated/i,
      freeze: /did not answer \S+ within 1 s/,
      garbage: /JSON/,
      other: /unknown message ID/,
      shapeless: /answered|refused the session/,
      nothing: /./,
      endless: /more than 16777216 bytes/,
      status: /the roof is on fire/,
      cut: /disconnected|terminated/,
    }),
  )('$method and does $trick is lost by its name', async ({ method, trick, reason }) => {
    const server = await serveFaulty(method, trick)
    try {
      const fault = await faultOf(environment({ url: server.url }, trick === 'freeze' ? 1 : 20))
      expect(fault.message).toMatch(reason)
      expect(fault.message).toContain(server.url)
      expect(fault.kind).toBe(method === 'tools/call' ? 'session_lost' : 'backend')
      if (method === 'tools/call') {
        await expect(session?.step(words)).rejects.toMatchObject({ kind: 'session_lost' })
        expect(grade).not.toHaveBeenCalled()
      }
      await session?.close()
      await task?.close()
      if (method !== 'initialize') expect([...server.sessions]).toEqual([])
    } finally {
      await server.close()
    }
  })
})

// [MCP-2] [MCP-TOOLS-2]
it('a refusal of a call is an answer in words that counts as unusable, and the episode continues', async () => {
  task = await ofProgram('tools/call', 'refuse').open({})
  session = await task.create()
  await session.reset('train/0')
  const { messages, invalid, done } = await session.step(call)
  expect(messages[0]?.content).toMatch(/not today/)
  expect([invalid, done]).toEqual([true, false])
  expect(await session.step(words)).toMatchObject({ done: true, reward: 1 })
})

// [MCP-4]
it('a process that left the group of its server ends with the episode', async () => {
  task = await ofProgram('tools/call', 'escape').open({})
  session = await task.create()
  await session.reset('train/0')
  const { messages } = await session.step(call)
  const escaped = Number(messages[0]?.content)
  expect(isAlive({ pid: escaped })).toBe(true)
  await session.step(words)
  expect(isAlive({ pid: escaped })).toBe(false)
})

it('a command that cannot be started is said by its name', async () => {
  await expect(environment({ command: 'no-such-command' }).open({})).rejects.toThrow(
    /^no-such-command cannot be started/,
  )
})

it('a server that dies while no one asks it anything is no reward, and the next episode gets another', async () => {
  const definition = mcpEnvironment('faulty', {
    server: { command: process.execPath, args: [program, 'none', 'none'] },
    startedAhead: 1,
    start: () => ({ prompt: 'Go.' }),
    grade,
  })
  task = await definition.open({})
  session = await task.create()
  await session.reset('train/0')
  const pids = (): readonly number[] =>
    readdirSync('/proc').flatMap((name) => {
      const line = /^\d+$/.test(name) ? commandOf(name) : ''
      return line.includes('faulty-server.testing.ts\0none') ? [Number(name)] : []
    })
  for (const pid of pids()) process.kill(pid, 'SIGKILL')
  await vi.waitFor(() => expect(pids()).toEqual([]))
  await expect(session.step(words)).rejects.toMatchObject({ kind: 'session_lost' })
  expect(grade).not.toHaveBeenCalled()
  await session.reset('train/1')
  expect(await session.step(words)).toMatchObject({ reward: 1, outcome: 'completed' })
})

function commandOf(process: string): string {
  try {
    return readFileSync(`/proc/${process}/cmdline`, 'latin1')
  } catch {
    // It has ended meanwhile.
    return ''
  }
}
