/**
 * The connection to the shell of a container: one text is sent at a time, and what is heard goes to what waits.
 *
 * Invariants
 * - Output that arrives while no command is in progress is dropped; far more than that is a flood.
 * - Under a throttle no more is read than a share at a time: what floods waits at its own pipe.
 * - Bytes are handed on as they come; a frame is never collected.
 */
import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import { type AnswerStream, floodBytes } from './answer-stream.ts'

/** The share of an interrupted command's output that is read in each period, until the interrupt has its effect. */
const share = { bytes: 4 * 2 ** 20, periodMs: 100 } as const

/** The output on both streams until an answer. */
export interface Heard {
  readonly stdout: AnswerStream
  readonly stderr: AnswerStream
}

interface Pending extends Heard {
  readonly check: () => void
}

export function isAnswered({ stdout, stderr }: Heard): boolean {
  return stdout.answer !== undefined && stderr.answer !== undefined
}

export class ShellConnection {
  readonly #connection: Duplex
  readonly #onFlood: () => void
  readonly #ended = Promise.withResolvers<void>()
  #closed = false
  #pending: Pending | undefined
  /** Bytes that came while no command was in progress, since the last. */
  #unasked = 0
  /** Bytes that may still be read in this period. */
  #allowed = Number.POSITIVE_INFINITY

  /** @param onFlood hears of a container that floods while no command is in progress */
  constructor(connection: Duplex, onFlood: () => void) {
    this.#connection = connection
    this.#onFlood = onFlood
    const onEnd = () => {
      this.#closed = true
      this.#ended.resolve()
      this.#pending?.check()
    }
    connection.on(
      'data',
      createFrameReader((stream, bytes) => this.#hear(stream, bytes)),
    )
    // The error of a connection that is cut; its end is all there is to know.
    connection.on('error', onEnd)
    connection.on('close', onEnd)
    connection.on('end', onEnd)
  }

  get closed(): boolean {
    return this.#closed
  }

  /** Settles when the connection ends. */
  get whenClosed(): Promise<void> {
    return this.#ended.promise
  }

  /**
   * Sends a text and waits for its answer on both streams, the end of the connection, or the signal.
   * @param mostBytes how much may be said before that is enough
   * @returns whether it was
   */
  async exchange(
    text: string,
    heard: Heard,
    signal: AbortSignal,
    mostBytes = Number.POSITIVE_INFINITY,
  ): Promise<boolean> {
    const settled = Promise.withResolvers<boolean>()
    const check = () => {
      if (this.#closed || isAnswered(heard)) settled.resolve(false)
      else if (heard.stdout.bytes + heard.stderr.bytes > mostBytes) settled.resolve(true)
    }
    this.#pending = { ...heard, check }
    const onAbort = () => settled.resolve(false)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    check()
    if (text !== '' && !this.#closed && !this.#connection.write(text)) {
      const drained = once(this.#connection, 'drain').catch(() => undefined)
      await Promise.race([drained, this.whenClosed, settled.promise])
    }
    const flooded = await settled.promise
    signal.removeEventListener('abort', onAbort)
    return flooded
  }

  /** Sends what has no answer. */
  write(text: string): void {
    this.#connection.write(text)
  }

  /** The command is over: what is heard from now on was not asked for. */
  rest(): void {
    this.#pending = undefined
    this.#unasked = 0
  }

  /** Does work while no more is read than a share at a time. */
  async throttled<T>(work: () => Promise<T>): Promise<T> {
    this.#allowed = share.bytes
    const shares = setInterval(() => {
      this.#allowed = share.bytes
      this.#connection.resume()
    }, share.periodMs)
    try {
      return await work()
    } finally {
      clearInterval(shares)
      this.#allowed = Number.POSITIVE_INFINITY
      this.#connection.resume()
    }
  }

  close(): void {
    this.#connection.destroy()
  }

  #hear(stream: keyof Heard, bytes: Buffer): void {
    this.#allowed -= bytes.length
    if (this.#allowed <= 0) this.#connection.pause()
    if (this.#pending === undefined) {
      this.#unasked += bytes.length
      if (this.#unasked > floodBytes) this.#onFlood()
      return
    }
    this.#pending[stream].push(bytes)
    this.#pending.check()
  }
}

const headerBytes = 8

/** A reader of frames. @returns what takes the next bytes of the connection */
export function createFrameReader(
  onBytes: (stream: 'stdout' | 'stderr', bytes: Buffer) => void,
): (chunk: Buffer) => void {
  let header = Buffer.alloc(0)
  let stream: 'stdout' | 'stderr' = 'stdout'
  let left = 0
  return (chunk) => {
    let rest = chunk
    while (rest.length > 0) {
      if (left === 0) {
        const missing = headerBytes - header.length
        header = Buffer.concat([header, rest.subarray(0, missing)])
        rest = rest.subarray(missing)
        if (header.length < headerBytes) return
        stream = header[0] === 2 ? 'stderr' : 'stdout'
        left = header.readUInt32BE(4)
        header = Buffer.alloc(0)
        continue
      }
      const bytes = rest.subarray(0, left)
      left -= bytes.length
      rest = rest.subarray(bytes.length)
      onBytes(stream, bytes)
    }
  }
}
