/**
 * Virtual machines in threads that they share: a script that cannot be stopped costs its thread, never the process.
 *
 * Invariants
 * - A script that is out of time or memory is answered as such, and its machine is as before the script.
 * - The other machines of its thread are made again from their worlds and their scripts, unnoticed; they wait for a
 *   script for a slice, not for its deadline.
 * - Threads start when they are needed, and end when the pool is closed; they keep no process alive.
 */
import { extname } from 'node:path'
import { EnvironmentFault } from '../../contract/environment.ts'
import { ThreadPool } from '../../threads/pool.ts'
import type { ThreadSession } from '../../threads/session.ts'
import type { Ending } from '../../threads/thread.ts'
import type { ShellResult, ShellSnapshot } from './shell.ts'
import type { ShellReply, ShellRequest } from './thread.ts'
import type { World } from './world.ts'

/** Megabytes of JavaScript heap of a thread: many machines of a few megabytes, and no more. */
const heapMebibytes = 384
// A script that ran once is run again on a machine that may be busier.
const againFactor = 4

/** The result of a script that ended its thread, worded as bash would. */
const stopped: Readonly<Record<Ending, ShellResult>> = {
  'out of time': { output: 'bash: the script ran out of time and was stopped\n', exitCode: 124 },
  'out of memory': { output: 'bash: the script ran out of memory and was stopped\n', exitCode: 137 },
  broken: { output: 'bash: the script broke its shell and was stopped\n', exitCode: 139 },
}

/** How many threads, and how long a script may take. */
export interface ThreadOptions {
  readonly threads: number
  readonly deadlineMs: number
}

/** One virtual machine, wherever it lives. */
export interface Shell {
  run(script: string): Promise<ShellResult>
  snapshot(): Promise<ShellSnapshot>
  /** May be called twice. */
  close(): Promise<void>
}

/** Threads that shells are spread over. */
export class ShellThreads {
  readonly #pool: ThreadPool<ShellRequest, ShellReply>
  readonly #deadlineMs: number
  #shells = 0

  constructor({ threads, deadlineMs }: ThreadOptions) {
    this.#deadlineMs = deadlineMs
    this.#pool = new ThreadPool({
      // The same folder holds the thread's module as source and in the package, under either extension.
      url: new URL(`./thread${extname(import.meta.url)}`, import.meta.url),
      name: 'shells',
      heapMebibytes,
      shared: threads,
      sessionsOfThread: 1,
    })
  }

  /** A new virtual machine. @throws EnvironmentFault */
  async open(world: World, seed: number): Promise<Shell> {
    const shell = this.#shells++
    const session = this.#pool.session({
      open: { kind: 'open', shell, world, seed },
      close: { kind: 'close', shell },
    })
    await session.open()
    return new PooledShell(session, shell, this.#deadlineMs)
  }

  close(): Promise<void> {
    return this.#pool.close()
  }
}

class PooledShell implements Shell {
  readonly #session: ThreadSession<ShellRequest, ShellReply>
  readonly #shell: number
  readonly #deadlineMs: number

  constructor(session: ThreadSession<ShellRequest, ShellReply>, shell: number, deadlineMs: number) {
    this.#session = session
    this.#shell = shell
    this.#deadlineMs = deadlineMs
  }

  async run(script: string): Promise<ShellResult> {
    const request = { kind: 'run', shell: this.#shell, script } as const
    const outcome = await this.#session.ask(request, this.#deadlineMs, () => ({
      request,
      allowedMs: againFactor * this.#deadlineMs,
    }))
    if (outcome.kind === 'ended') return stopped[outcome.ending]
    if (outcome.reply.kind !== 'ran') throw unexpected(outcome.reply.kind)
    return outcome.reply.result
  }

  async snapshot(): Promise<ShellSnapshot> {
    const outcome = await this.#session.ask({ kind: 'snapshot', shell: this.#shell }, this.#deadlineMs)
    if (outcome.kind === 'ended') throw unexpected(outcome.ending)
    if (outcome.reply.kind !== 'found') throw unexpected(outcome.reply.kind)
    return outcome.reply.snapshot
  }

  async close(): Promise<void> {
    this.#session.close()
  }
}

function unexpected(what: string): EnvironmentFault {
  return new EnvironmentFault('backend', `the virtual shell of os failed: answered by "${what}"`)
}
