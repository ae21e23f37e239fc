/**
 * A child process that answers requests, one JSON line for each.
 *
 * Invariants
 * - One request at a time; each is answered, or fails as an EnvironmentFault of kind `session_lost`.
 * - A process that misses a deadline, is asked before it has answered, or writes what is no answer or too long
 *   is killed, and all that it started with it.
 * - The fault quotes the last output of the process on standard error.
 */
import type { z } from 'zod'
import { type ChildCommand, excerptOf, LineChild } from '../../machine/processes/line-child.ts'
import { EnvironmentFault } from '../contract/environment.ts'
import { replySchema } from './protocol.ts'

export interface LineProcess {
  /** Names it in messages. */
  readonly name: string
  readonly alive: boolean
  /**
   * @param deadlineMs after which the process is killed
   * @throws EnvironmentFault `session_lost`, or what the process reports
   */
  request<T>(method: string, params: object, schema: z.ZodType<T>, deadlineMs: number): Promise<T>
  /** Ends the process and what it started; may be called twice. */
  end(): Promise<void>
}

/** How long a process may take to leave after its standard input has ended. */
const leaveMs = 1000

interface Waiting {
  readonly resolve: (line: string) => void
  readonly reject: (fault: EnvironmentFault) => void
}

/** Starts a process; that it cannot be started is reported by its first request. */
export function startLineProcess(command: ChildCommand): LineProcess {
  return new ChildLineProcess(command)
}

class ChildLineProcess implements LineProcess {
  readonly #child: LineChild
  #waiting: Waiting | undefined
  #isAnswered = false
  #fault: EnvironmentFault | undefined
  #lastId = 0

  constructor(command: ChildCommand) {
    this.#child = new LineChild(command, {
      onLine: (line) => this.#hear(line),
      onLost: (reason, cause) => {
        this.#fault = new EnvironmentFault('session_lost', `${this.#child.name} ${reason}`, { cause })
        this.#waiting?.reject(this.#fault)
      },
    })
  }

  get name(): string {
    return this.#child.name
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
    const line = await this.#ask(JSON.stringify({ id, method, params }), method, deadlineMs)
    const answer = this.#parse(line, id, method)
    const result = schema.safeParse(answer)
    if (result.success) return result.data
    throw this.#lose(
      `answered "${method}" with ${excerptOf(line)}, where ${result.error.issues[0]?.path.join('.')}: ${result.error.issues[0]?.message}`,
    )
  }

  async #ask(line: string, method: string, deadlineMs: number): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    this.#waiting = { resolve, reject }
    this.#isAnswered = false
    const timer = setTimeout(
      () => this.#lose(`did not answer "${method}" within ${deadlineMs / 1000} s`),
      deadlineMs,
    )
    try {
      this.#child.write(line)
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
      throw this.#lose(`answered "${method}" with what is no JSON: ${excerptOf(line)}`)
    }
    const reply = replySchema.safeParse(value)
    if (!reply.success || reply.data.id !== id)
      throw this.#lose(`answered "${method}" with what is no answer to it: ${excerptOf(line)}`)
    if ('error' in reply.data) throw new EnvironmentFault(reply.data.error.kind, reply.data.error.message)
    return reply.data.result
  }

  #hear(line: string): void {
    if (this.#waiting === undefined) this.#lose(`wrote a line without a request: ${excerptOf(line)}`)
    else if (this.#isAnswered) this.#lose(`wrote more than one line: ${excerptOf(line)}`)
    else {
      this.#isAnswered = true
      this.#waiting.resolve(line)
    }
  }

  /** Gives the process up; the first reason is kept. */
  #lose(reason: string): EnvironmentFault {
    this.#child.lose(reason)
    return this.#fault ?? new EnvironmentFault('session_lost', `${this.#child.name} ${reason}`)
  }

  async end(): Promise<void> {
    this.#fault ??= new EnvironmentFault('session_lost', `${this.#child.name} was ended`)
    this.#waiting?.reject(this.#fault)
    await this.#child.end({ withinMs: leaveMs })
  }
}
