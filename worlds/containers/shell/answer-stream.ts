/**
 * The output of a command on one of its streams, up to the line that answers it.
 *
 * Invariants
 * - The answer is found in whatever pieces it comes; all that is before it is output, and nothing else.
 * - The beginning of an output is kept: at most `limit` bytes, whatever comes.
 */

/** The most unkept output before the speaker is ended: reading it costs everyone's cores. */
export const floodBytes = 16 * 2 ** 20

export class KeptOutput {
  readonly #limit: number
  readonly #kept: Buffer[] = []
  #keptBytes = 0
  /** All that came, kept or not. */
  bytes = 0

  /** @param limit bytes kept */
  constructor(limit: number) {
    this.#limit = limit
  }

  /** Bytes that are no UTF-8 are replaced. */
  get text(): string {
    return Buffer.concat(this.#kept).toString('utf8')
  }

  get truncated(): boolean {
    return this.bytes > this.#keptBytes
  }

  push(data: Buffer): void {
    this.bytes += data.length
    const room = this.#limit - this.#keptBytes
    if (room <= 0 || data.length === 0) return
    // A copy: the piece may be a window on a much larger buffer.
    const kept = Buffer.from(data.subarray(0, room))
    this.#kept.push(kept)
    this.#keptBytes += kept.length
  }
}

/** The line that ended a command. */
export interface Answer {
  readonly status: number
  /** Interrupts that the shell has seen so far. */
  readonly interrupts: number
}

/** A status and a count take a few digits; what is longer is no answer. */
const answerBytes = 40

export class AnswerStream {
  readonly #mark: Buffer
  readonly #output: KeptOutput
  /** The last bytes, where they may begin the answer. */
  #tail: Buffer = Buffer.alloc(0)
  answer: Answer | undefined

  /**
   * @param word begins the answering line
   * @param limit bytes kept of the output
   */
  constructor(word: string, limit: number) {
    this.#mark = Buffer.from(`\n${word} `)
    this.#output = new KeptOutput(limit)
  }

  /** Takes the next bytes; what comes after the answer is dropped. */
  push(chunk: Buffer): void {
    if (this.answer !== undefined) return
    let data = this.#tail.length === 0 ? chunk : Buffer.concat([this.#tail, chunk])
    for (;;) {
      const at = data.indexOf(this.#mark)
      if (at < 0) {
        this.#wait(data, Math.max(0, data.length - this.#mark.length + 1))
        return
      }
      const start = at + this.#mark.length
      const end = data.indexOf('\n', start)
      if (end < 0 && data.length - start <= answerBytes) {
        this.#wait(data, at)
        return
      }
      const match = /^(\d{1,5}) (\d{1,9})$/.exec(data.toString('latin1', start, Math.max(start, end)))
      if (match !== null) {
        this.#output.push(data.subarray(0, at))
        this.#tail = Buffer.alloc(0)
        this.answer = { status: Number(match[1]), interrupts: Number(match[2]) }
        return
      }
      this.#output.push(data.subarray(0, start))
      data = data.subarray(start)
    }
  }

  /** The output, after which nothing more is taken. */
  end(): KeptOutput {
    this.#output.push(this.#tail)
    this.#tail = Buffer.alloc(0)
    return this.#output
  }

  /** Bytes of output so far. */
  get bytes(): number {
    return this.#output.bytes
  }

  /** Keeps what is output for sure; the rest may begin an answer. */
  #wait(data: Buffer, sure: number): void {
    this.#output.push(data.subarray(0, sure))
    this.#tail = data.subarray(sure)
  }
}
