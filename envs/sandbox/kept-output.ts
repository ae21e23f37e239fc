/**
 * What is kept of an output: its beginning, up to a limit.
 *
 * Invariants
 * - At most `limit` bytes are kept, whatever comes.
 */

/** What may be said beyond what is kept before the speaker is ended: reading it costs everyone's cores. */
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
