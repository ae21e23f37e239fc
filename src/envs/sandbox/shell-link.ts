/**
 * The link to the shell of a container: commands go in, answers come out.
 *
 * Invariants
 * - A command that is out of time, or says far more than is kept, is interrupted; a shell that then does not
 *   answer is given up (`lost`), so `ask` always settles.
 * - An interrupt that was asked for has arrived before the next command is sent.
 * - The answer to a command is no part of what the command said, also when it was interrupted.
 * - What background processes say between two commands is dropped; far more than that is a flood.
 * - Of a command that is being interrupted no more is read than a share at a time: who floods waits at his own pipe.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import { AnswerStream } from './answer-stream.ts'
import { createFrameReader } from './frames.ts'
import { floodBytes } from './kept-output.ts'
import type { ExecOptions, ExecResult } from './sandbox.ts'
import { echoText, prologue, requestText } from './shell-script.ts'

/** A shell that was interrupted answers in milliseconds, on a busy machine in a second. */
const graceMs = 5_000
/** What is read of an interrupted command in each period, until the interrupt has its effect. */
const share = { bytes: 4 * 2 ** 20, periodMs: 100 } as const
const defaultDeadlineMs = 10_000
const defaultOutputBytes = 64 * 2 ** 10
const outOfTimeStatus = 124

export type ShellAnswer = Omit<ExecResult, 'ended'>

export interface ShellLink {
  /** Whether the connection has ended; nobody knows the container's state then but the engine. */
  readonly closed: boolean
  /** Settles when the connection ends. */
  readonly whenClosed: Promise<void>
  /** Runs a script. `lost` tells that the shell does not answer any more. */
  ask(
    script: string,
    options?: ExecOptions,
  ): Promise<{ readonly answer: ShellAnswer; readonly lost: boolean }>
  close(): void
}

/** What is heard on both streams until an answer. */
interface Heard {
  readonly stdout: AnswerStream
  readonly stderr: AnswerStream
}

interface Pending extends Heard {
  readonly check: () => void
}

/**
 * Links to the shell behind an attached connection.
 * @param interrupt sends the interrupt signal to the container
 * @param onFlood hears of a container that floods while no command is in hand
 */
export function linkShell(
  connection: Duplex,
  interrupt: () => Promise<void>,
  onFlood: () => void = () => undefined,
): ShellLink {
  let pending: Pending | undefined
  let closed = false
  let interruptsAsked = 0
  /** Bytes that came while no command was in hand, since the last. */
  let unasked = 0
  /** Bytes that may still be read in this period. */
  let allowed = Number.POSITIVE_INFINITY
  const ended = Promise.withResolvers<void>()
  const onEnd = () => {
    closed = true
    ended.resolve()
    pending?.check()
  }
  connection.on(
    'data',
    createFrameReader((stream, bytes) => {
      allowed -= bytes.length
      if (allowed <= 0) connection.pause()
      if (pending === undefined) {
        unasked += bytes.length
        if (unasked > floodBytes) onFlood()
        return
      }
      pending[stream].push(bytes)
      pending.check()
    }),
  )
  // The error of a connection that is cut; its end is all there is to know.
  connection.on('error', onEnd)
  connection.on('close', onEnd)
  connection.on('end', onEnd)
  connection.write(prologue)

  /**
   * Sends a text and waits for its answer on both streams, the end of the connection, or the signal.
   * @param mostBytes how much may be said before that is enough
   * @returns whether it was
   */
  async function exchange(
    text: string,
    heard: Heard,
    signal: AbortSignal,
    mostBytes = Number.POSITIVE_INFINITY,
  ): Promise<boolean> {
    const settled = Promise.withResolvers<boolean>()
    const check = () => {
      if (closed || isAnswered(heard)) settled.resolve(false)
      else if (heard.stdout.bytes + heard.stderr.bytes > mostBytes) settled.resolve(true)
    }
    pending = { ...heard, check }
    const onAbort = () => settled.resolve(false)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    check()
    if (text !== '' && !closed && !connection.write(text))
      await Promise.race([once(connection, 'drain').catch(() => undefined), ended.promise, settled.promise])
    const flooded = await settled.promise
    signal.removeEventListener('abort', onAbort)
    return flooded
  }

  return {
    get closed() {
      return closed
    },
    whenClosed: ended.promise,

    async ask(script, options = {}) {
      const { deadlineMs = defaultDeadlineMs, outputBytes = defaultOutputBytes } = options
      const word = randomBytes(12).toString('hex')
      const text = requestText({ word, script, ...options })
      const heard = listen(word, outputBytes)
      const deadline = AbortSignal.timeout(deadlineMs)
      const flooded = await exchange(text, heard, deadline, 2 * outputBytes + floodBytes)
      const answered = isAnswered(heard)
      const timedOut = !answered && !flooded && !closed
      let lost = false
      if (!answered && !closed) {
        interruptsAsked += 1
        lost = !(await interrupted(heard, interruptsAsked))
      }
      pending = undefined
      unasked = 0
      const output = { stdout: heard.stdout.end(), stderr: heard.stderr.end() }
      const status = answered ? (heard.stdout.answer?.status ?? 0) : timedOut ? outOfTimeStatus : 137
      return {
        answer: {
          exitCode: status,
          stdout: output.stdout.text,
          stderr: output.stderr.text,
          timedOut,
          truncated: output.stdout.truncated || output.stderr.truncated,
        },
        lost,
      }
    },

    close() {
      connection.destroy()
    },
  }

  /**
   * Interrupts, and waits until the shell has said that it saw it.
   * @param heard of the command in hand, whose answer ends what it said
   * @returns false when it did not
   */
  async function interrupted(heard: Heard, count: number): Promise<boolean> {
    const patience = AbortSignal.timeout(graceMs)
    allowed = share.bytes
    const shares = setInterval(() => {
      allowed = share.bytes
      connection.resume()
    }, share.periodMs)
    try {
      await interrupt()
      return await seen(heard, count, patience)
    } finally {
      clearInterval(shares)
      allowed = Number.POSITIVE_INFINITY
      connection.resume()
    }
  }

  async function seen(heard: Heard, count: number, patience: AbortSignal): Promise<boolean> {
    await exchange('', heard, patience)
    // The answer of the command in hand may come before the signal: ask until the count is right.
    let last = heard
    while (isAnswered(last)) {
      if ((last.stdout.answer?.interrupts ?? 0) >= count) return true
      const word = randomBytes(12).toString('hex')
      last = listen(word, 0)
      await exchange(echoText(word), last, patience)
    }
    return false
  }
}

function listen(word: string, outputBytes: number): Heard {
  return { stdout: new AnswerStream(word, outputBytes), stderr: new AnswerStream(word, outputBytes) }
}

function isAnswered({ stdout, stderr }: Heard): boolean {
  return stdout.answer !== undefined && stderr.answer !== undefined
}
