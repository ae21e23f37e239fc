/**
 * A deployment: one process per role, two for environments, and the embedded server, as a supervisor keeps them.
 *
 * Invariants
 * - Every process is of the released command line, in a process group of its own.
 * - A process that ends without an order is started again and counted.
 * - After `close` no process of the deployment is left; after its disposal the server is not left either.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Role } from '../../client/session/training-session.ts'
import { codeOf } from '../../faults/system-error.ts'

const program = fileURLToPath(new URL('../../bin/perdure.mjs', import.meta.url))

/** Who breaks it at a moment that passes in milliseconds must not wait for a core. */
const niceness = 5

/** The processes of a deployment, by name. */
export const members = {
  orchestrator: 'orchestrator',
  'environment-1': 'environment',
  'environment-2': 'environment',
  policy: 'policy',
  trainer: 'trainer',
} as const satisfies Record<string, Role>
export type Member = keyof typeof members
const memberNames = Object.keys(members) as readonly Member[]
/** A deployment of one process with all roles. */
const single = 'all'

type Name = Member | typeof single

/** Where a deployment keeps its things. */
export interface Places {
  /** Home directory of the deployment. */
  readonly home: string
  /** Standard output and error of its processes. */
  readonly logs: string
  /** Folder for temporary files, of its own so that leftovers are recognised. */
  readonly temporary: string
}

export class Deployment implements AsyncDisposable {
  readonly places: Places
  /** Processes that ended by themselves. */
  crashes = 0
  readonly #names: readonly Name[]
  readonly #children = new Map<Name, ChildProcess>()
  readonly #environment: Readonly<Record<string, string>>
  #isClosing = false

  /** @param environment what its processes are started with beside that of this one */
  constructor(
    places: Places,
    environment: Readonly<Record<string, string>> = {},
    { isSingle = false }: { readonly isSingle?: boolean | undefined } = {},
  ) {
    this.places = places
    this.#names = isSingle ? [single] : memberNames
    this.#environment = environment
    for (const folder of Object.values(places)) mkdirSync(folder, { recursive: true })
  }

  startAll(): void {
    for (const name of this.#names) this.start(name)
  }

  /** `kill -9` of every process and the server, all at once. @param server the server's process, where it is known */
  async killAll(server: number | undefined = this.serverPid()): Promise<void> {
    if (server !== undefined) signalTo(server, 'SIGKILL')
    await Promise.all(this.#names.map((name) => this.kill(name)))
  }

  /** Stops every process where it is, and the server. @returns the server's process */
  freezeAll(): number | undefined {
    for (const name of this.#names) this.freeze(name)
    return this.freezeServer()
  }

  /** Starts a process; one that runs stays. */
  start(member: Name): void {
    if (this.#children.has(member) || this.#isClosing) return
    const log = openSync(this.logOf(member), 'a')
    const child = spawn(
      'nice',
      [
        '-n',
        String(niceness),
        process.execPath,
        program,
        'worker',
        ...['--role', member === single ? member : members[member]],
        '--home',
        this.places.home,
      ],
      {
        detached: true,
        stdio: ['ignore', log, log],
        env: { ...process.env, NO_COLOR: '1', TMPDIR: this.places.temporary, ...this.#environment },
      },
    )
    closeSync(log)
    this.#children.set(member, child)
    child.once('exit', () => {
      if (this.#children.get(member) !== child) return
      this.#children.delete(member)
      if (this.#isClosing) return
      this.crashes += 1
      this.start(member)
    })
  }

  logOf(member: Name): string {
    return join(this.places.logs, `${member}.log`)
  }

  /** `kill -9` of a process group. Settles when the process has ended; it is not started again. */
  async kill(member: Name): Promise<void> {
    const child = this.#children.get(member)
    this.#children.delete(member)
    if (child === undefined) return
    const ended = endOf(child)
    this.#signal(child, 'SIGKILL')
    await ended
  }

  /** Stops the threads of a process where they are. */
  freeze(member: Name): void {
    this.#signal(this.#children.get(member), 'SIGSTOP')
  }

  thaw(member: Name): void {
    this.#signal(this.#children.get(member), 'SIGCONT')
  }

  /** `kill -9` of the embedded server; a process that uses it starts it again. */
  killServer(): void {
    const pid = this.serverPid()
    if (pid !== undefined) signalTo(pid, 'SIGKILL')
  }

  /** Stops the embedded server where it is. @returns its process; undefined while none is recorded */
  freezeServer(): number | undefined {
    const pid = this.serverPid()
    if (pid !== undefined) signalTo(pid, 'SIGSTOP')
    return pid
  }

  /** Lets a process that was the server continue, where it still lives. */
  thawServer(pid: number): void {
    signalTo(pid, 'SIGCONT')
  }

  /** The embedded server's process; undefined while none is recorded. */
  serverPid(): number | undefined {
    const file = join(this.places.home, 'temporal.json')
    if (!existsSync(file)) return undefined
    const { pid } = JSON.parse(readFileSync(file, 'utf8')) as { pid?: number }
    return pid
  }

  /** Ends all processes as a supervisor does: politely, and after a while by force. */
  async close(): Promise<void> {
    this.#isClosing = true
    await Promise.all(
      [...this.#children.values()].map(async (child) => {
        const ended = endOf(child)
        this.#signal(child, 'SIGCONT')
        this.#signal(child, 'SIGTERM')
        const timer = setTimeout(() => this.#signal(child, 'SIGKILL'), politeMs)
        await ended
        clearTimeout(timer)
      }),
    )
    this.#children.clear()
  }

  /** The server ends with its last user, but not where that one had to be ended by force. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
    this.killServer()
  }

  #signal(child: ChildProcess | undefined, signal: NodeJS.Signals): void {
    if (child?.pid !== undefined && child.exitCode === null && child.signalCode === null)
      signalTo(-child.pid, signal)
  }
}

/** Longer than workers wait for what they hold. */
const politeMs = 60_000

function endOf(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  return new Promise((resolve) => child.once('exit', () => resolve()))
}

function signalTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    // It has ended already.
    if (codeOf(error) !== 'ESRCH') throw error
  }
}

/** Command lines of living processes that have to do with a folder; empty where the system does not tell. */
export function processesOf(folder: string): readonly string[] {
  if (process.platform !== 'linux') return []
  const found: string[] = []
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    if (Number(pid) === process.pid) continue
    const text = lineOf(pid)
    const isOurs = text.includes(folder) || workingDirectoryOf(pid).startsWith(folder)
    if (isOurs) found.push(`process ${pid}: ${text}`)
  }
  return found
}

function lineOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
  } catch {
    return '' // it has ended meanwhile
  }
}

function workingDirectoryOf(pid: string): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    return ''
  }
}
