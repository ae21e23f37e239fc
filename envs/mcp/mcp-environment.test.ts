/** Environments of an MCP server of the SDK, as a program and at an address. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { packageRoot } from '../../machine/files/folder.ts'
import { createProcessLeases } from '../../machine/processes/lease.ts'
import type { AssistantMessage, JsonObject } from '../../messages/message.ts'
import type { Environment, Task } from '../contract/environment.ts'
import type { FolderView } from './episode-folder.ts'
import type { McpEnvironment, McpEpisode } from './mcp-definition.ts'
import { mcpEnvironment } from './mcp-environment.ts'
import { ServerPool, type StartedServer } from './server-pool.ts'

const program = join(import.meta.dirname, 'notes-server.testing.ts')
type Definition = McpEnvironment<{ prompt: string }, undefined, never>

let home: string
let task: Task | undefined
let session: Environment | undefined
let stop: (() => Promise<unknown>) | undefined
afterEach(async () => {
  await session?.close()
  await task?.close()
  await stop?.()
  session = task = stop = undefined
  vi.unstubAllEnvs()
  if (home !== undefined) rmSync(home, { recursive: true, force: true })
})
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'perdure-mcp-test-'))
})

function notes(given: Partial<Definition> = {}): ReturnType<typeof mcpEnvironment> {
  return mcpEnvironment('notes', {
    server: { command: process.execPath, args: [program] },
    startedAhead: 0,
    start: () => ({ prompt: 'Note something.' }),
    grade: () => 1,
    ...given,
  })
}

async function begin(given: Partial<Definition> = {}): Promise<Environment> {
  task = await notes(given).open({ folder: home, leases: createProcessLeases() })
  session = await task.create()
  await session.reset('train/0')
  return session
}

const call = (name: string, given: JsonObject = {}): AssistantMessage => ({
  role: 'assistant',
  content: '',
  tool_calls: [{ name, arguments: given }],
})
const words: AssistantMessage = { role: 'assistant', content: 'All is noted.' }

async function said(name: string, given: JsonObject = {}): Promise<string | undefined> {
  const step = await session?.step(call(name, given))
  return step?.messages[0]?.content
}

// [MCP-TOOLS-2] [MCP-TOOLS-3]
it('results are texts: parts are joined, structured content is JSON, an image is named, a failure is a message', async () => {
  await begin()
  expect(await said('add', { a: 1, b: 2 })).toBe('{"sum":3}')
  expect(await said('draw')).toBe('[image image/png]')
  expect(await said('link', { path: 'l', text: '/etc/passwd' })).toBe('linked\nand made a folder')
  expect(await said('last')).toMatch(/^z{1000000}… \(500000 more letters\)$/)
  expect(await session?.step(call('fail'))).toMatchObject({
    messages: [{ content: 'it failed' }],
    ...{ reward: 0, done: false },
  })
  expect(await session?.step(call('nothing'))).toMatchObject({ invalid: true })
  expect(await said('add', [1] as never)).toBe('add needs a JSON object of arguments.')
})

// [MCP-TASK-1] [MCP-TASK-2] [EPISODE-FOLDER-1]
it('an episode is graded by its words, its calls and its folder, from which no link leads', async () => {
  let seen: McpEpisode<{ prompt: string }> | undefined
  const texts: (string | undefined)[] = []
  await begin({
    async start({ files }) {
      await files.write('deep/in.txt', 'hello')
      await expect(files.write('../out.txt', '')).rejects.toMatchObject({ kind: 'bad_data' })
      return { prompt: 'Note.' }
    },
    async grade(episode) {
      seen = episode
      for (const path of ['a.txt', 'deep/in.txt', 'l', 'l.folder', '../x', '/etc/passwd', 'no\0'])
        texts.push(await episode.files.read(path))
      return { reward: 0.5, info: { files: await episode.files.list() } }
    },
  })
  await said('note', { path: 'a.txt', text: 'hi' })
  await said('link', { path: 'l', text: '/etc/passwd' })
  const { reward, done, outcome, info } = (await session?.step(words)) ?? {}
  expect([reward, done, outcome]).toEqual([0.5, true, 'completed'])
  expect(info).toEqual({ files: ['a.txt', 'deep/in.txt'] })
  expect(texts).toEqual(['hi', 'hello', ...Array(5).fill(undefined)])
  expect(seen?.answer).toBe('All is noted.')
  expect(seen?.calls[0]).toEqual({
    ...{ tool: 'note', arguments: { path: 'a.txt', text: 'hi' }, reply: 'noted', isError: false },
  })
  expect(await session?.step(words)).toMatchObject({ reward: 0, done: true })
})

// [MCP-TASK-1] [EPISODE-FOLDER-2]
it('each episode has an empty folder, whose path the agent does not read, and none is left', async () => {
  const listed: (readonly string[])[] = []
  const list = async ({ files }: { files: FolderView }) => {
    listed.push(await files.list())
    return 0
  }
  await begin({ grade: list })
  expect(await said('where')).toBe('in .')
  await said('note', { path: 'a.txt', text: 'hi' })
  await session?.step(words)
  await session?.reset('train/1')
  await session?.step(words)
  expect(listed).toEqual([['a.txt'], []])
  await session?.close()
  expect(readdirSync(join(home, 'notes'))).toEqual([])
})

// [SERVER-START-1]
it('a program has PATH, HOME, the variables that are named and no other, and a secret that is missing is named', async () => {
  vi.stubEnv('NOTES_KEY', 'a-secret-of-a-test')
  vi.stubEnv('ANOTHER_SECRET', 'a-secret-that-is-not-named')
  const env = { KEY: ['$', '{NOTES_KEY}'].join('') }
  await begin({ server: { command: process.execPath, args: [program], env } })
  const variables = JSON.parse((await said('variables')) ?? '') as Record<string, string>
  expect(Object.keys(variables).toSorted()).toEqual(['HOME', 'KEY', 'PATH', 'PERDURE_PROCESS_GROUP'])
  expect(variables).toMatchObject({ HOME: '.', KEY: 'a-secret-of-a-test' })
  vi.stubEnv('NOTES_KEY', '')
  const server = { command: process.execPath, args: [program], env }
  await expect(notes({ server }).open({})).rejects.toThrow(
    '`server.env of notes.KEY` needs the environment variable NOTES_KEY, which is not set here',
  )
})

// [MCP-TOOLS-1]
describe('tools', () => {
  it('are those that are wanted, by the names that are wanted, without the dialect of their schemas', async () => {
    await begin({ tools: { plus: 'add', shout: 'fail' } })
    expect(session?.tools).toEqual([
      {
        type: 'function',
        function: { name: 'plus', description: 'Tool 0.', parameters: { type: 'object' } },
      },
      {
        type: 'function',
        function: { name: 'shout', description: 'Tool 5.', parameters: { type: 'object' } },
      },
    ])
    expect(await said('plus', { a: 2, b: 2 })).toBe('{"sum":4}')
    expect(await said('add')).toBe(
      'There is no such tool. Call one of the tools plus, shout, or end with an answer.',
    )
  })

  it('that the server does not have are refused with those that it has', async () => {
    await expect(notes({ tools: ['add', 'subtract'] }).open({})).rejects.toThrow(
      /has no tool "subtract": it offers add, note, link, variables, draw, fail, where, count, last$/,
    )
  })
})

it('an expert plays calls and ends with words', async () => {
  task = await notes({
    *expert() {
      const sum = yield { add: { a: 20, b: 22 } }
      yield { note: { path: 'a.txt', text: sum } }
    },
    grade: async ({ files }) => Number((await files.read('a.txt')) === '{"sum":42}'),
  }).open({})
  const shown = await task.demonstrate?.('train/3')
  expect(shown?.reward).toBe(1)
  expect(shown?.actions.map(({ content, tool_calls }) => tool_calls?.[0]?.name ?? content)).toEqual([
    ...['add', 'note', 'Done.'],
  ])
})

// [SERVER-POOL-3]
it('as many servers start at once as may, and a fault of one leaves its place to the next', async () => {
  let [starting, most, count] = [0, 0, 0]
  const pool = new ServerPool(
    async () => {
      most = Math.max(most, ++starting)
      await new Promise(setImmediate)
      starting--
      if (++count === 2) throw new Error('this one fails')
      return { connection: { isLost: false }, end: async () => undefined } as unknown as StartedServer
    },
    { ahead: 0, starting: 2 },
  )
  const taken = await Promise.allSettled(Array.from({ length: 9 }, () => pool.take()))
  expect(taken.map(({ status }) => status).toSorted()).toEqual([...Array(8).fill('fulfilled'), 'rejected'])
  expect(most).toBe(2)
  await pool.close()
  await expect(pool.take()).rejects.toThrow('the task is closed')
})

// [SERVER-POOL-2]
it('closing gives up the servers that are still starting, and ends those that are lent', async () => {
  const ended: string[] = []
  const started = (name: string) =>
    ({ connection: { isLost: false }, end: async () => void ended.push(name) }) as unknown as StartedServer
  let count = 0
  const pool = new ServerPool(
    async (signal) => {
      const at = ++count
      if (at === 1) return started('lent')
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      if (at === 2) throw new Error('given up')
      return started('late')
    },
    { ahead: 2, starting: 9 },
  )
  await pool.take()
  expect(count).toBe(3)
  await pool.close()
  expect(ended.toSorted()).toEqual(['late', 'lent'])
})

// [MCP-ENVIRONMENT-1]
it('defining one loads neither the SDK nor anything that plays it', async () => {
  const index = join(packageRoot, 'index.ts')
  const code = `
    import { registerHooks } from 'node:module'
    registerHooks({ load(url, context, next) { console.log(url); return next(url, context) } })
    const { mcpEnvironment } = await import(${JSON.stringify(index)})
    mcpEnvironment('notes', { server: { command: 'notes' }, start: () => ({ prompt: '' }), grade: () => 1 })`
  const words = ['--input-type=module', '--eval', code]
  const { stdout } = await promisify(execFile)(process.execPath, words)
  expect(stdout).toContain('/envs/mcp/mcp-environment.ts')
  expect(stdout).not.toMatch(/modelcontextprotocol|\/mcp-(task|connection)|\/remote\/base\//)
})

// [SERVER-POOL-1] [SERVER-POOL-2]
it('servers are started ahead, each plays one episode, and closing leaves none', async () => {
  await begin({ startedAhead: 2 })
  const folders = () => readdirSync(join(home, 'notes'))
  await vi.waitFor(() => expect(folders()).toHaveLength(3))
  expect(await said('count')).toBe('1')
  await session?.reset('train/1')
  expect(await said('count')).toBe('1')
  await vi.waitFor(() => expect(folders()).toHaveLength(3))
  await task?.close()
  expect(folders()).toEqual([])
})

// [SERVER-START-2]
it('what a killed worker left of a server ends when the environment is opened again', async () => {
  const parent = join(home, 'notes')
  const leases = createProcessLeases()
  task = await notes().open({ folder: home, leases })
  session = await task.create()
  await session.reset('train/0')
  const [lost] = readdirSync(parent)
  // The lease of a worker that is no more.
  for (const { id } of await leases.list('folder')) await leases.release(id)
  const again = await notes().open({ folder: home, leases })
  expect(readdirSync(parent)).not.toContain(lost)
  await expect(session.step(call('count'))).rejects.toMatchObject({ kind: 'session_lost' })
  await again.close()
})

// [MCP-4] [MCP-TASK-1]
it('at an address each episode is a session, which ends with it, and headers hold secrets', async () => {
  const child = spawn(process.execPath, [program, 'http'], { stdio: ['ignore', 'pipe', 'inherit'] })
  stop = async () => {
    child.kill('SIGKILL')
    await once(child, 'close')
  }
  const [port] = (await once(child.stdout, 'data')) as [Buffer]
  const root = `http://127.0.0.1:${String(port).trim()}`
  const open = async () => await (await fetch(`${root}/open`)).text()
  await expect(notes({ server: { url: `${root}/mcp` } }).open({})).rejects.toThrow(/no token/)
  vi.stubEnv('NOTES_KEY', 'a-token-of-a-test')
  const headers = { authorization: `Bearer ${['$', '{NOTES_KEY}'].join('')}` }
  const files: (readonly string[])[] = []
  await begin({
    server: { url: `${root}/mcp`, headers },
    async grade(episode) {
      files.push(await episode.files.list())
      return 1
    },
  })
  await expect(notes({ server: { url: 'notes' } }).open({})).rejects.toMatchObject({ kind: 'bad_settings' })
  expect(await open()).toBe('1')
  expect(await said('count')).toBe('1')
  expect(await said('count')).toBe('2')
  const other = await task?.create()
  await other?.reset('train/1')
  expect((await other?.step(call('count')))?.messages[0]?.content).toBe('1')
  expect(await open()).toBe('2')
  expect(await session?.step(words)).toMatchObject({ reward: 1, outcome: 'completed' })
  await other?.close()
  expect(await open()).toBe('0')
  expect(files).toEqual([[]])
})

it.each([
  [{ server: {} }, /server of notes has a command or a url/],
  [{ callSeconds: 0 }, /callSeconds of notes is 0, expected 1 to 3600/],
  [{ startedAhead: 65 }, /startedAhead of notes is 65, expected a whole number to 64/],
  [{ turnLimit: 0.5 }, /turnLimit of notes is 0.5/],
])('a definition that cannot work is refused where it is written: %j', (given, reason) => {
  expect(() => notes(given as never)).toThrow(reason)
})

it('is replayed from its actions only where its author says so', () => {
  expect(notes()).toMatchObject({ replayable: false, turnLimit: 30, stepTimeoutSeconds: 180 })
  expect(notes({ replayable: true }).replayable).toBe(true)
})
