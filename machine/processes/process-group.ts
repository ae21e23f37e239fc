/**
 * A program that leads a group of processes of its own, and ends with all of them.
 *
 * Invariants
 * - [PROCESS-GROUP-1] `end` returns once no process of the group is left: after SIGTERM and a moment, SIGKILL.
 * - [PROCESS-GROUP-2] The group ends with this process, also where that is killed: a shell that leads it reads a pipe of this process.
 * - [PROCESS-GROUP-3] A process that left the group is found by a variable of its environment, on systems that have `/proc`.
 * - Memory is bounded: of the output only the last words are kept.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { codeOf } from '../../faults/system-error.ts'
import { clock } from '../services/clock.ts'

export interface GroupCommand {
  /** A program and its arguments. */
  readonly words: readonly string[]
  readonly cwd: string
  /** The whole environment of the program. */
  readonly env: Readonly<Record<string, string>>
  /** Names the group: no other has it. The processes have it in their environment. */
  readonly mark: string
}

/** How the program ended. */
export interface ProgramEnd {
  /** In words that follow the name of the program. */
  readonly words: string
  readonly isSuccess: boolean
}

/** The variable that holds the mark of a group. */
export const markVariable = 'PERDURE_PROCESS_GROUP'

const lastWordsLimit = 4000

/** A program gets this time after SIGTERM. */
const graceMs = 2000

/**
 * `$$` is the shell, and so the group. The reader of the pipe holds no output open, and the program has no access to the pipe. The shell
 * outlives SIGTERM, so that it waits for both: what it leaves to the init process may be a zombie for seconds.
 */
const guard = [
  'trap : TERM',
  'exec 3<&0 </dev/null',
  '( read -r _ <&3; kill -9 -$$ ) >/dev/null 2>&1 &',
  'reader=$!',
  '"$@" 3<&-',
  'code=$?',
  'kill -9 $reader 2>/dev/null',
  'wait $reader 2>/dev/null',
  'exit $code',
].join('\n')

export class ProcessGroup {
  readonly #child: ChildProcess
  readonly #mark: string
  readonly ended: Promise<ProgramEnd>
  #lastWords = ''

  /** Starts the program; that it cannot be started is an end with 127. */
  constructor({ words, cwd, env, mark }: GroupCommand) {
    this.#mark = mark
    const child = spawn('/bin/sh', ['-c', guard, 'sh', ...words], {
      cwd,
      env: { ...env, [markVariable]: mark },
      stdio: 'pipe',
      detached: true,
    })
    this.#child = child
    for (const output of [child.stdout, child.stderr])
      output?.setEncoding('utf8').on('data', (text: string) => {
        this.#lastWords = (this.#lastWords + text).slice(-lastWordsLimit)
      })
    child.stdin?.on('error', () => undefined)
    this.ended = new Promise((resolve) => {
      child.on('error', ({ message }) =>
        resolve({ words: `cannot be started: ${message}`, isSuccess: false }),
      )
      child.on('exit', (code, signal) => resolve(endOf(code, signal)))
    })
  }

  /** The end of what the program wrote, on both outputs. */
  get lastWords(): string {
    return this.#lastWords
  }

  /** Ends every process of the group. @returns false where one did not end by itself in time, and was killed */
  async end(): Promise<boolean> {
    const endedByItself = await this.#endsInTime()
    if (!endedByItself) this.#signal('SIGKILL')
    for (const output of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) output?.destroy()
    await endMarked(this.#mark)
    return endedByItself
  }

  async #endsInTime(): Promise<boolean> {
    const until = clock.monotonic() + graceMs
    let isLeft = this.#signal('SIGTERM')
    while (isLeft && clock.monotonic() < until) {
      await clock.sleep(10)
      isLeft = this.#signal(0)
    }
    return !isLeft
  }

  /** @returns whether a process of the group is there */
  #signal(signal: 'SIGTERM' | 'SIGKILL' | 0): boolean {
    const { pid } = this.#child
    if (pid === undefined) return false
    try {
      return process.kill(-pid, signal)
    } catch (error) {
      if (codeOf(error) === 'ESRCH') return false
      throw error
    }
  }
}

/** A shell reports a signal as 128 and its number. */
function endOf(code: number | null, signal: NodeJS.Signals | null): ProgramEnd {
  const name = signal ?? (code === 137 ? 'SIGKILL' : code === 143 ? 'SIGTERM' : undefined)
  return { words: `ended with ${name ?? `code ${code}`}`, isSuccess: code === 0 }
}

/** Kills every process with a mark, those that it starts meanwhile included. */
export async function endMarked(mark: string): Promise<void> {
  for (let tries = 0; tries < 50; tries++) {
    const left = (await markedProcesses()).get(mark) ?? []
    if (left.length === 0) return
    for (const pid of left)
      try {
        process.kill(pid, 'SIGKILL')
      } catch (error) {
        if (codeOf(error) !== 'ESRCH') throw error
      }
  }
}

/** Processes by the mark of their group; empty on a system without `/proc`. */
export async function markedProcesses(): Promise<ReadonlyMap<string, readonly number[]>> {
  const found = new Map<string, number[]>()
  const names = await readdir('/proc').catch(() => [])
  const sought = `${markVariable}=`
  for (const name of names.filter((each) => /^\d+$/.test(each))) {
    // Another user's process, or one that has ended meanwhile.
    const text = await readFile(`/proc/${name}/environ`, 'latin1').catch(() => '')
    const mark = text
      .split('\0')
      .find((variable) => variable.startsWith(sought))
      ?.slice(sought.length)
    if (mark !== undefined) found.set(mark, [...(found.get(mark) ?? []), Number(name)])
  }
  return found
}
