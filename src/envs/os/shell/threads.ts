/**
 * The threads that shells share: a script that cannot be stopped costs its thread, never the process.
 *
 * Invariants
 * - A script that is out of time or memory is answered as such, and its machine is as before the script.
 * - The other machines of an ended thread are made again from their worlds and their scripts, unnoticed.
 * - Threads start when they are needed, and end when the pool is closed; they keep no process alive.
 */
import { Worker } from 'node:worker_threads'
import { reasonOf } from '../../../reason.ts'
import { EnvironmentFault } from '../../environment.ts'
import type { ShellResult, ShellSnapshot } from './shell.ts'
import type { ShellAnswer, ShellRequest } from './thread.ts'
import type { World } from './world.ts'

/** Megabytes of JavaScript heap of a thread: many machines of a few megabytes, and no more. */
const heapMebibytes = 384

const timeoutCode = 124
const outOfMemoryCode = 137

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

/** Why a thread was ended. */
type Ending = 'out of time' | 'out of memory' | 'closed'

class ThreadEnded extends Error {
  override readonly name = 'ThreadEnded'
  readonly ending: Ending
  /** Whether it was this request that ended it. */
  readonly guilty: boolean

  constructor(ending: Ending, guilty: boolean) {
    super(`the shell's thread ended: ${ending}`)
    this.ending = ending
    this.guilty = guilty
  }
}

interface Pending {
  readonly resolve: (result: unknown) => void
  readonly reject: (cause: Error) => void
}

type Asked = ShellRequest extends infer Each
  ? Each extends { number: number }
    ? Omit<Each, 'number'>
    : never
  : never

/** One worker and what it has been asked; requests are answered in order, so the first one is running. */
class Thread {
  readonly #worker: Worker
  readonly #pending = new Map<number, Pending>()
  readonly #deadlineMs: number
  #numbers = 0
  #timer: NodeJS.Timeout | undefined
  ended = false
  shells = 0

  constructor(deadlineMs: number) {
    this.#deadlineMs = deadlineMs
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
    this.#worker = new Worker(new URL(`./thread.${extension}`, import.meta.url), {
      // Nothing of the process is handed to a thread that runs what an agent wrote.
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: heapMebibytes },
    })
    this.#worker.unref()
    this.#worker.on('message', (answer: ShellAnswer) => this.#answered(answer))
    this.#worker.on('error', (cause: Error & { code?: string }) =>
      this.#end(cause.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'out of memory' : 'closed', cause),
    )
    this.#worker.on('exit', () => this.#end('closed'))
  }

  ask(request: Asked): Promise<unknown> {
    if (this.ended) return Promise.reject(new ThreadEnded('closed', false))
    return new Promise((resolve, reject) => {
      const number = this.#numbers++
      this.#pending.set(number, { resolve, reject })
      if (this.#pending.size === 1) this.#watch()
      this.#worker.postMessage({ ...request, number } satisfies ShellRequest)
    })
  }

  async terminate(): Promise<void> {
    this.#end('closed')
    await this.#worker.terminate()
  }

  #answered(answer: ShellAnswer): void {
    const pending = this.#pending.get(answer.number)
    this.#pending.delete(answer.number)
    this.#watch()
    if ('failure' in answer) pending?.reject(new Error(answer.failure))
    else pending?.resolve(answer.result)
  }

  /** The time of a request runs from when it is the first. */
  #watch(): void {
    clearTimeout(this.#timer)
    if (this.#pending.size === 0) {
      this.#worker.unref()
      return
    }
    this.#worker.ref()
    this.#timer = setTimeout(() => {
      this.#end('out of time')
      void this.#worker.terminate()
    }, this.#deadlineMs)
  }

  #end(ending: Ending, cause?: Error): void {
    if (this.ended) return
    this.ended = true
    clearTimeout(this.#timer)
    const pending = [...this.#pending.values()]
    this.#pending.clear()
    pending.forEach(({ reject }, index) => {
      const error = new ThreadEnded(ending, index === 0 && ending !== 'closed')
      if (cause !== undefined) error.cause = cause
      reject(error)
    })
  }
}

/** Threads that shells are spread over. */
export class ShellThreads {
  readonly #options: ThreadOptions
  readonly #threads: Thread[] = []
  #shells = 0
  #closed = false

  constructor(options: ThreadOptions) {
    this.#options = options
  }

  /** A new virtual machine. @throws EnvironmentFault backend */
  async open(world: World, seed: number): Promise<Shell> {
    const shell = new PooledShell(this.#shells++, world, seed, () => this.#leastBusy())
    await shell.make()
    return shell
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all(this.#threads.map((thread) => thread.terminate()))
    this.#threads.length = 0
  }

  #leastBusy(): Thread {
    if (this.#closed) throw new EnvironmentFault('session_lost', 'the shells of os are closed')
    const alive = this.#threads.filter(({ ended }) => !ended)
    this.#threads.splice(0, this.#threads.length, ...alive)
    const best = alive.toSorted((left, right) => left.shells - right.shells)[0]
    if (best !== undefined && (best.shells === 0 || alive.length >= this.#options.threads)) return best
    const thread = new Thread(this.#options.deadlineMs)
    this.#threads.push(thread)
    return thread
  }
}

class PooledShell implements Shell {
  readonly #number: number
  readonly #world: World
  readonly #seed: number
  readonly #threadFor: () => Thread
  readonly #scripts: string[] = []
  #thread: Thread | undefined

  constructor(number: number, world: World, seed: number, threadFor: () => Thread) {
    this.#number = number
    this.#world = world
    this.#seed = seed
    this.#threadFor = threadFor
  }

  /** Makes the machine in a thread, as it was after the scripts so far. */
  async make(): Promise<Thread> {
    for (;;) {
      const thread = this.#threadFor()
      thread.shells += 1
      this.#thread = thread
      try {
        const shell = this.#number
        await thread.ask({ kind: 'open', shell, world: this.#world, seed: this.#seed })
        for (const script of this.#scripts) await thread.ask({ kind: 'run', shell, script })
        return thread
      } catch (cause) {
        // What went well once ends a thread only by an accident of another's: it is made again elsewhere.
        if (!(cause instanceof ThreadEnded) || cause.guilty || cause.cause !== undefined) throw faultOf(cause)
      }
    }
  }

  async run(script: string): Promise<ShellResult> {
    for (;;) {
      try {
        const thread = await this.#alive()
        const result = await thread.ask({ kind: 'run', shell: this.#number, script })
        this.#scripts.push(script)
        return result as ShellResult
      } catch (cause) {
        if (!(cause instanceof ThreadEnded)) throw faultOf(cause)
        if (!cause.guilty) continue
        return cause.ending === 'out of time'
          ? { output: 'bash: the script ran out of time and was stopped\n', exitCode: timeoutCode }
          : { output: 'bash: the script ran out of memory and was stopped\n', exitCode: outOfMemoryCode }
      }
    }
  }

  async snapshot(): Promise<ShellSnapshot> {
    for (;;) {
      try {
        const thread = await this.#alive()
        return (await thread.ask({ kind: 'snapshot', shell: this.#number })) as ShellSnapshot
      } catch (cause) {
        if (!(cause instanceof ThreadEnded) || cause.guilty) throw faultOf(cause)
      }
    }
  }

  async close(): Promise<void> {
    const thread = this.#thread
    this.#thread = undefined
    if (thread === undefined) return
    thread.shells -= 1
    if (thread.ended) return
    await thread.ask({ kind: 'close', shell: this.#number }).catch((cause: unknown) => {
      if (!(cause instanceof ThreadEnded)) throw faultOf(cause)
    })
  }

  async #alive(): Promise<Thread> {
    const thread = this.#thread
    return thread === undefined || thread.ended ? this.make() : thread
  }
}

function faultOf(cause: unknown): EnvironmentFault {
  if (cause instanceof EnvironmentFault) return cause
  return new EnvironmentFault('backend', `the virtual shell of os failed: ${reasonOf(cause)}`, { cause })
}
