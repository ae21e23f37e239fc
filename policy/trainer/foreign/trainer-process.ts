/**
 * A process that trains: started once, asked one thing at a time, in the protocol of `trainer-protocol.ts`.
 *
 * Invariants
 * - [TRAINER-PROCESS-1] Every request ends: by its answer, or by a fault that says what the process did.
 * - [TRAINER-PROCESS-2] A process that tells nothing new for the stall limit, or writes what is no line of the protocol, is
 *   killed with all that it started. Progress that does not advance is nothing new.
 * - [TRAINER-PROCESS-3] A request that is given up ends the process, so no answer to it can come later.
 */
import type { z } from 'zod'
import { excerptOf, LineChild } from '../../../machine/processes/line-child.ts'
import { TrainerFault } from '../trainer.ts'
import type { Progress } from '../update/update.ts'
import { helloSchema, readLine, reportedFault } from './trainer-protocol.ts'

/** How a trainer's process is started and watched. */
export interface TrainerCommand {
  /** The program and its arguments. */
  readonly command: readonly string[]
  /** Longest silence while it works, in milliseconds. */
  readonly stallMs: number
  /** Threads that it may take. */
  readonly threads: number
}

/** Options of a request. */
interface Asking {
  readonly onProgress?: Progress | undefined
  /** Ends the process. */
  readonly signal?: AbortSignal | undefined
}

/** Ranks that are asked to leave end one another; PyTorch's launcher gives them seconds. */
const leaveMs = 5000

interface Waiting {
  readonly id: number
  readonly onProgress: Progress | undefined
  readonly resolve: (result: unknown) => void
  readonly reject: (fault: unknown) => void
  /** Parts done, as last reported. */
  done: number
}

export class TrainerProcess {
  readonly #child: LineChild
  readonly #stallMs: number
  #waiting: Waiting | undefined
  #lastId = -1
  #timer: NodeJS.Timeout | undefined
  #fault: TrainerFault | undefined
  /** The kind of its fault, until the process is lost by itself. */
  #kind: TrainerFault['kind'] = 'crashed'

  private constructor({ command: [program = '', ...args], stallMs }: TrainerCommand) {
    this.#stallMs = stallMs
    this.#child = new LineChild(
      { command: program, args },
      {
        onLine: (line) => this.#hear(line),
        onLost: (reason, cause) => {
          this.#fault = new TrainerFault(this.#kind, `the trainer ${this.#child.name} ${reason}`, { cause })
          this.#settle()?.reject(this.#fault)
        },
      },
    )
  }

  /** Starts a process and learns what it can do. @throws TrainerFault */
  static async start(
    command: TrainerCommand,
    signal?: AbortSignal,
  ): Promise<{ readonly process: TrainerProcess } & z.output<typeof helloSchema>> {
    const process = new TrainerProcess(command)
    try {
      const { methods, losses } = await process.ask('hello', { threads: command.threads }, helloSchema, {
        signal,
      })
      return { process, methods, losses }
    } catch (fault) {
      await process.end()
      throw fault
    }
  }

  get isLost(): boolean {
    return this.#child.isLost
  }

  /** @throws TrainerFault; the reason of the signal where that ends it */
  async ask<T>(
    method: string,
    params: object,
    schema: z.ZodType<T>,
    { onProgress, signal }: Asking = {},
  ): Promise<T> {
    signal?.throwIfAborted()
    if (this.#fault !== undefined) throw this.#fault
    const id = ++this.#lastId
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    this.#waiting = { id, onProgress, resolve, reject, done: -1 }
    const giveUp = (): void => {
      this.#settle()
      reject(signal?.reason)
      void this.end()
    }
    signal?.addEventListener('abort', giveUp, { once: true })
    this.#watch(method)
    this.#child.write(JSON.stringify({ id, method, params }))
    try {
      const answer = schema.safeParse(await promise)
      if (answer.success) return answer.data
      const [issue] = answer.error.issues
      throw this.lose(
        'bad_answer',
        `answered "${method}" wrongly: ${issue?.path.join('.')}: ${issue?.message}`,
      )
    } finally {
      signal?.removeEventListener('abort', giveUp)
    }
  }

  /** Gives the process up. @param reason in words that follow its name @returns the fault to throw */
  lose(kind: TrainerFault['kind'], reason: string, cause?: unknown): TrainerFault {
    this.#kind = kind
    this.#child.lose(reason, cause)
    return this.#fault ?? new TrainerFault(kind, `the trainer ${this.#child.name} ${reason}`, { cause })
  }

  /** Asks the process and what it started to leave, and kills what stays; may be called twice. */
  async end(): Promise<void> {
    this.#fault ??= new TrainerFault('crashed', `the trainer ${this.#child.name} was ended`)
    this.#settle()?.reject(this.#fault)
    await this.#child.end({ withinMs: leaveMs, signal: 'SIGTERM' })
  }

  #hear(text: string): void {
    const line = readLine(text)
    const waiting = this.#waiting
    if (line === undefined || waiting === undefined || line.id !== waiting.id) {
      this.lose('bad_answer', `wrote a line that answers nothing: ${excerptOf(text)}`)
    } else if ('progress' in line) {
      const { done, total } = line.progress
      if (done > total) this.lose('bad_answer', `wrote a line that cannot be: ${excerptOf(text)}`)
      if (done <= waiting.done) return
      waiting.done = done
      this.#timer?.refresh()
      waiting.onProgress?.(done, total)
    } else {
      this.#settle()
      if ('error' in line) waiting.reject(reportedFault(line.error))
      else waiting.resolve(line.result)
    }
  }

  #watch(method: string): void {
    this.#timer = setTimeout(
      () => this.lose('stalled', `reported nothing about "${method}" for ${this.#stallMs / 1000} s`),
      this.#stallMs,
    )
  }

  /** Ends the wait. @returns what waited */
  #settle(): Waiting | undefined {
    const waiting = this.#waiting
    clearTimeout(this.#timer)
    this.#waiting = undefined
    return waiting
  }
}
