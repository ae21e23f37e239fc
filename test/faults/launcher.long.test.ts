/** A command ends with what started it, also where that is killed and can hand no signal on. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createConnection } from 'node:net'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, expect, it } from 'vitest'
import { processesOf } from '../../bench/chaos/deployment.ts'
import { eventually, removeHome, temporaryHome } from '../support/perdure-process.ts'

const program = fileURLToPath(new URL('../../bin/perdure.mjs', import.meta.url))
const projectNode = fileURLToPath(new URL('../../node_modules/node/bin/node', import.meta.url))
const home = temporaryHome()
/** Runs until a signal ends it, and starts no server of Temporal. */
const command = ['codec-server', '--json', '--home', home]

let launcher: ChildProcess | undefined
afterEach(() => {
  if (launcher?.pid !== undefined) endGroup(launcher.pid)
})
afterAll(() => removeHome(home))

function endGroup(group: number): void {
  try {
    process.kill(-group, 'SIGKILL')
  } catch {
    // All of it has ended.
  }
}

/** Starts the command by a launcher in a process group of its own. @returns the port it listens on */
async function start(words: readonly string[]): Promise<number> {
  const [file = '', ...rest] = words
  // The command knows nothing of the package manager that runs the tests.
  const { npm_execpath: _, ...environment } = process.env
  launcher = spawn(file, rest, {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...environment, PERDURE_PAYLOAD_KEYS: `test:${Buffer.alloc(32, 7).toString('base64')}` },
  })
  let said = ''
  launcher.stdout?.on('data', (chunk: Buffer) => {
    said += chunk.toString()
  })
  return eventually('the command to listen', () => {
    const port = /"endpoint":\s*"http:\/\/[^"]*:(\d+)/.exec(said)?.[1]
    return port === undefined ? undefined : Number(port)
  })
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port })
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}

/** `kill -9` of the launcher alone. */
async function killLauncher(): Promise<void> {
  const ended = once(launcher as ChildProcess, 'exit')
  launcher?.kill('SIGKILL')
  await ended
}

/** The first Node takes itself for an old one, as a system may have it; the one that it starts does not. */
const asOldNode = `data:text/javascript,${encodeURIComponent(
  "if (!process.env.PERDURE_LAUNCHER_PIPE) Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.0.0' } })",
)}`

it.skipIf(!existsSync(projectNode)).each([
  ['an older Node, which handed over', [process.execPath, '--import', asOldNode, program, ...command]],
  ['npm', ['npm', 'exec', '--offline', '-c', [process.execPath, program, ...command].join(' ')]],
])(
  'a command ends when what started it is killed: %s',
  async (_, words) => {
    const port = await start(words)
    expect(await isListening(port)).toBe(true)
    await killLauncher()
    await eventually('the command to end', () => (processesOf(home).length === 0 ? true : undefined), 30_000)
    expect(await isListening(port)).toBe(false)
  },
  120_000,
)
