/**
 * A child process that answers requests, one JSON line for each.
 *
 * Invariants
 * - One request at a time; each is answered, or fails as an EnvironmentFault of kind `session_lost`.
 * - A process that misses a deadline, is asked before it has answered, or writes what is no answer or too long
 *   is killed, and all that it started with it.
 * - Memory is bounded: of standard error only the last words are kept, of standard output one line.
 * - What the process said last on standard error is in the fault.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { z } from 'zod'
import { codeOf } from '../../faults/system-error.ts'
import { EnvironmentFault } from '../environment.ts'
import { replySchema } from './protocol.ts'

export interface ProcessCommand {
  readonly command: string
  readonly args: readonly string[]
  /** Working directory; the one of this process by default. */
  readonly cwd?: string | undefined
  /** The whole environment of the process. */
  readonly env?: Readonly<Record<string, string>> | undefined
}

export interface LineProcess {
  readonly alive: boolean
  /**
   * @param deadlineMs after which the process is killed
   * @throws EnvironmentFault `session_lost`, or what the process reports
   */
  request<T>(method: string, params: object, schema: z.ZodType<T>, deadlineMs: number): Promise<T>
  /** Ends the process and what it started; may be called twice. */
  end(): Promise<void>
}

/** Characters of one answer; far more than any agent reads. */
const lineLimit = 16 * 1024 * 1024
const lastWordsLimit = 4000
/** How long a process may take to leave after its standard input has ended. */
const leaveMs = 1000

interface Waiting {
  readonly id: number
  readonly resolve: (line: string) => void
  readonly reject: (fault: EnvironmentFault) => void
}

/** Starts a process; that it cannot be started is reported by its first request. */
export function startLineProcess(command: ProcessCommand): LineProcess {
  return new ChildLineProcess(command)
}

class ChildLineProcess implements LineProcess {
  readonly #name: string
  readonly #child: ChildProcess
  readonly #closed: Promise<unknown>
  #parts: string[] = []
  #length = 0
  #lastWords = ''
  #waiting: Waiting | undefined
  #fault: EnvironmentFault | undefined
  #lastId = 0

  constructor({ command, args, cwd, env }: ProcessCommand) {
    this.#name = [command, ...args].join(' ')
    // A group of its own, so that all of it can be ended and a terminal's Ctrl-C does not reach it.
    const child = spawn(command, args, { cwd, env, stdio: 'pipe', detached: process.platform !== 'win32' })
    this.#child = child
    this.#closed = once(child, 'close').catch(() => undefined)
    child.on('error', (cause) => this.#lose(`cannot be started: ${cause.message}`, cause))
    child.on('close', (code, signal) => this.#lose(`ended with ${signal ?? `code ${code}`}`))
    child.stdout?.setEncoding('utf8').on('data', (text: string) => this.#read(text))
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#lastWords = (this.#lastWords + text).slice(-lastWordsLimit)
    })
    // What breaks a pipe is reported by the end of the process.
    child.stdin?.on('error', () => undefined)
  }

  get alive(): boolean {
    return this.#fault === undefined
  }

  async request<T>(method: string, params: object, schema: z.ZodType<T>, deadlineMs: number): Promise<T> {
    if (this.#fault !== undefined) throw this.#fault
    if (this.#waiting !== undefined)
      // The caller that asked before has given up waiting.
      throw this.#lose(`was still at work when it was asked "${method}"`)
    const id = ++this.#lastId
    const line = await this.#ask(id, `${JSON.stringify({ id, method, params })}\n`, method, deadlineMs)
    const answer = this.#parse(line, id, method)
    const result = schema.safeParse(answer)
    if (result.success) return result.data
    throw this.#lose(
      `answered "${method}" with ${excerpt(line)}, where ${result.error.issues[0]?.path.join('.')}: ${result.error.issues[0]?.message}`,
    )
  }

  async #ask(id: number, line: string, method: string, deadlineMs: number): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    this.#waiting = { id, resolve, reject }
    const timer = setTimeout(
      () => this.#lose(`did not answer "${method}" within ${deadlineMs / 1000} s`),
      deadlineMs,
    )
    try {
      this.#child.stdin?.write(line)
      return await promise
    } finally {
      clearTimeout(timer)
      this.#waiting = undefined
    }
  }

  #parse(line: string, id: number, method: string): unknown {
    let value: unknown
    try {
      value = JSON.parse(line)
    } catch {
      throw this.#lose(`answered "${method}" with what is no JSON: ${excerpt(line)}`)
    }
    const reply = replySchema.safeParse(value)
    if (!reply.success || reply.data.id !== id)
      throw this.#lose(`answered "${method}" with what is no answer to it: ${excerpt(line)}`)
    if ('error' in reply.data) throw new EnvironmentFault(reply.data.error.kind, reply.data.error.message)
    return reply.data.result
  }

  #read(text: string): void {
    const end = text.indexOf('\n')
    const part = end === -1 ? text : text.slice(0, end)
    this.#parts.push(part)
    this.#length += part.length
    if (this.#length > lineLimit) {
      this.#parts = []
      this.#lose(`wrote a line of more than ${lineLimit} characters`)
    } else if (end !== -1) {
      const line = this.#parts.join('')
      this.#parts = []
      this.#length = 0
      if (this.#waiting === undefined) this.#lose(`wrote a line without a request: ${excerpt(line)}`)
      else this.#waiting.resolve(line)
      if (end + 1 < text.length) this.#lose(`wrote more than one line: ${excerpt(text.slice(end + 1))}`)
    }
  }

  /** Gives the process up; the first reason is kept. */
  #lose(reason: string, cause?: unknown): EnvironmentFault {
    if (this.#fault === undefined) {
      const words = this.#lastWords.trim()
      const said = words === '' ? '' : `; its last words: ${words}`
      this.#fault = new EnvironmentFault('session_lost', `${this.#name} ${reason}${said}`, { cause })
      this.#kill()
    }
    this.#waiting?.reject(this.#fault)
    return this.#fault
  }

  async end(): Promise<void> {
    this.#fault ??= new EnvironmentFault('session_lost', `${this.#name} was ended`)
    this.#waiting?.reject(this.#fault)
    this.#child.stdin?.end()
    const leaving = new AbortController()
    await Promise.race([this.#closed, delay(leaveMs, undefined, { signal: leaving.signal }).catch(() => {})])
    leaving.abort()
    this.#kill()
    await this.#closed
  }

  #kill(): void {
    const { pid } = this.#child
    if (pid === undefined) return
    try {
      // The group may outlive its first process.
      if (process.platform === 'win32') this.#child.kill('SIGKILL')
      else process.kill(-pid, 'SIGKILL')
    } catch (cause) {
      if (codeOf(cause) !== 'ESRCH') throw cause
    }
    this.#child.stdout?.destroy()
    this.#child.stderr?.destroy()
  }
}

function excerpt(line: string): string {
  return JSON.stringify(line.length > 200 ? `${line.slice(0, 200)}…` : line)
}
