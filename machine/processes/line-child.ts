/**
 * A child process that is spoken to by lines, on its standard input and output.
 *
 * Invariants
 * - [LINES-1] The loss of the process is reported once, with the first reason and its last words; no line comes after it.
 * - [LINES-2] Memory is bounded: of standard error only the last words are kept, of standard output one line.
 * - [LINES-3] The process and all that it started end together: it leads a group of its own, which is killed when it is
 *   lost or ended.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { codeOf } from '../../faults/system-error.ts'
import { clock } from '../services/clock.ts'

export interface ChildCommand {
  readonly command: string
  readonly args: readonly string[]
  /** Working directory; the one of this process by default. */
  readonly cwd?: string | undefined
  /** The whole environment of the process; that of this process by default. */
  readonly env?: Readonly<Record<string, string>> | undefined
}

/** Who hears what a child says. */
export interface LineListener {
  /** A line without its end. */
  onLine(line: string): void
  /** @param reason in words that follow the name of the command; its last words are among them */
  onLost(reason: string, cause?: unknown): void
}

/** How a child is asked to leave. */
export interface Leaving {
  /** How long it may take, in milliseconds. */
  readonly withinMs: number
  /** A signal to its group at once; by default only its standard input ends. */
  readonly signal?: 'SIGTERM'
}

/** Characters of one line; far more than any answer has. */
const lineLimit = 16 * 1024 * 1024
const lastWordsLimit = 4000

/** The last output of a process is read within this time. Only a child that holds the output open takes longer. */
const heldMs = 2000

export class LineChild {
  /** The command as one reads it. */
  readonly name: string
  readonly #child: ChildProcess
  readonly #closed: Promise<unknown>
  readonly #listener: LineListener
  #parts: string[] = []
  #length = 0
  #lastWords = ''
  #isLost = false

  /** Starts the process; that it cannot be started is reported as its loss. */
  constructor({ command, args, cwd, env }: ChildCommand, listener: LineListener) {
    this.name = [command, ...args].join(' ')
    this.#listener = listener
    // A group of its own, so that all of it can be ended and a terminal's Ctrl-C does not reach it.
    const child = spawn(command, args, { cwd, env, stdio: 'pipe', detached: process.platform !== 'win32' })
    this.#child = child
    this.#closed = once(child, 'close').catch(() => undefined)
    child.on('error', (cause) => this.lose(`cannot be started: ${cause.message}`, cause))
    child.on('close', (code, signal) => this.lose(`ended with ${signal ?? `code ${code}`}`))
    child.on('exit', (code, signal) => {
      const lost = clock.after(heldMs, () => this.lose(`ended with ${signal ?? `code ${code}`}`))
      child.once('close', () => lost.cancel())
    })
    child.stdout?.setEncoding('utf8').on('data', (text: string) => this.#read(text))
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#lastWords = (this.#lastWords + text).slice(-lastWordsLimit)
    })
    // The end of the process reports why the pipe broke.
    child.stdin?.on('error', () => undefined)
  }

  get isLost(): boolean {
    return this.#isLost
  }

  write(line: string): void {
    if (!this.#isLost) this.#child.stdin?.write(`${line}\n`)
  }

  /** Gives the process up and kills it; only the first reason is reported. */
  lose(reason: string, cause?: unknown): void {
    if (this.#isLost) return
    this.#isLost = true
    this.#parts = []
    this.#kill('SIGKILL')
    const words = this.#lastWords.trim()
    this.#listener.onLost(words === '' ? reason : `${reason}; its last words: ${words}`, cause)
  }

  /** Ends the process and what it started; may be called twice. */
  async end({ withinMs, signal }: Leaving): Promise<void> {
    this.#isLost = true
    this.#child.stdin?.end()
    if (signal !== undefined) this.#kill(signal)
    const leaving = new AbortController()
    await Promise.race([
      this.#closed,
      clock.sleep(withinMs, { signal: leaving.signal }).catch(() => undefined),
    ])
    leaving.abort()
    this.#kill('SIGKILL')
    await this.#closed
  }

  #read(text: string): void {
    let begin = 0
    while (!this.#isLost && begin < text.length) {
      const end = text.indexOf('\n', begin)
      const part = text.slice(begin, end === -1 ? text.length : end)
      this.#parts.push(part)
      this.#length += part.length
      if (this.#length > lineLimit) {
        this.lose(`wrote a line of more than ${lineLimit} characters`)
      } else if (end !== -1) {
        const line = this.#parts.join('')
        this.#parts = []
        this.#length = 0
        this.#listener.onLine(line)
      }
      begin += part.length + 1
    }
  }

  #kill(signal: 'SIGTERM' | 'SIGKILL'): void {
    const { pid } = this.#child
    if (pid === undefined) return
    try {
      // The group may outlive its first process.
      if (process.platform === 'win32') this.#child.kill(signal)
      else process.kill(-pid, signal)
    } catch (cause) {
      if (codeOf(cause) !== 'ESRCH') throw cause
    }
    if (signal !== 'SIGKILL') return
    this.#child.stdin?.destroy()
    this.#child.stdout?.destroy()
    this.#child.stderr?.destroy()
  }
}

/** A line as a message quotes it. */
export function excerptOf(line: string): string {
  return JSON.stringify(line.length > 200 ? `${line.slice(0, 200)}…` : line)
}
