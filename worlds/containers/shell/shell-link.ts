/**
 * The link to the shell of a container: commands go in, answers come out.
 *
 * Invariants
 * - A command that is out of time, or says far more than is kept, is interrupted; a shell that then does not
 *   answer is given up (`lost`), so `ask` always settles.
 * - An interrupt that was asked for has arrived before the next command is sent.
 * - The answer to a command is no part of what the command said, also when it was interrupted.
 */
import { randomBytes } from 'node:crypto'
import type { Duplex } from 'node:stream'
import { deadlineSignal } from '../../../machine/services/clock.ts'
import type { ExecOptions, ExecResult } from '../sandbox.ts'
import { AnswerStream, floodBytes } from './answer-stream.ts'
import { type Heard, isAnswered, ShellConnection } from './shell-connection.ts'
import { echoText, prologue, requestText } from './shell-script.ts'

/** A shell that was interrupted answers in milliseconds, on a busy machine in a second. */
const graceMs = 5_000
const defaultDeadlineMs = 10_000
const defaultOutputBytes = 64 * 2 ** 10
const outOfTimeStatus = 124

export type ShellAnswer = Omit<ExecResult, 'ended'>

export interface ShellLink {
  /** Whether the connection has ended; then only the engine knows the container's state. */
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

/**
 * Links to the shell behind an attached connection.
 * @param interrupt sends the interrupt signal to the container
 * @param onFlood hears of a container that floods while no command is in progress
 */
export function linkShell(
  duplex: Duplex,
  interrupt: () => Promise<void>,
  onFlood: () => void = () => undefined,
): ShellLink {
  const connection = new ShellConnection(duplex, onFlood)
  let interruptsAsked = 0
  connection.write(prologue)

  return {
    get closed() {
      return connection.closed
    },
    whenClosed: connection.whenClosed,

    async ask(script, options = {}) {
      const { deadlineMs = defaultDeadlineMs, outputBytes = defaultOutputBytes } = options
      const word = randomBytes(12).toString('hex')
      const text = requestText({ word, script, ...options })
      const heard = listen(word, outputBytes)
      const deadline = deadlineSignal(deadlineMs)
      const flooded = await connection.exchange(text, heard, deadline, 2 * outputBytes + floodBytes)
      const answered = isAnswered(heard)
      const timedOut = !answered && !flooded && !connection.closed
      let lost = false
      if (!answered && !connection.closed) {
        interruptsAsked += 1
        lost = !(await interrupted(heard, interruptsAsked))
      }
      connection.rest()
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
      connection.close()
    },
  }

  /**
   * Interrupts, and waits until the shell has said that it saw it.
   * @param heard of the command in progress, whose answer ends what it said
   * @returns false when it did not
   */
  async function interrupted(heard: Heard, count: number): Promise<boolean> {
    const grace = deadlineSignal(graceMs)
    return connection.throttled(async () => {
      await interrupt()
      return await seen(heard, count, grace)
    })
  }

  async function seen(heard: Heard, count: number, grace: AbortSignal): Promise<boolean> {
    await connection.exchange('', heard, grace)
    // The answer of the command in progress may come before the signal: ask until the count is right.
    let last = heard
    while (isAnswered(last)) {
      if ((last.stdout.answer?.interrupts ?? 0) >= count) return true
      const word = randomBytes(12).toString('hex')
      last = listen(word, 0)
      await connection.exchange(echoText(word), last, grace)
    }
    return false
  }
}

function listen(word: string, outputBytes: number): Heard {
  return { stdout: new AnswerStream(word, outputBytes), stderr: new AnswerStream(word, outputBytes) }
}
