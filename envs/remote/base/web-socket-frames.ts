/**
 * Frames of a WebSocket (RFC 6455), as a client reads and writes them.
 *
 * Invariants
 * - [FRAMES-1] The parts of a message that a server divides are put together, wherever the network divides them again.
 * - [FRAMES-2] A message longer than the bound is refused when its length is read, and nothing of it is kept.
 */

export const opcodes = { more: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

/** A whole message. */
export interface Frame {
  readonly opcode: number
  readonly payload: Buffer
}

/** The bytes of a message in one frame. @param mask 4 bytes, random */
export function writeFrame(opcode: number, payload: Buffer, mask: Buffer): Buffer {
  const { length } = payload
  const lengthBytes = length < 126 ? 0 : length < 65_536 ? 2 : 8
  const start = 2 + lengthBytes + 4
  const frame = Buffer.allocUnsafe(start + length)
  frame[0] = 0x80 | opcode
  frame[1] = 0x80 | (lengthBytes === 0 ? length : lengthBytes === 2 ? 126 : 127)
  if (lengthBytes === 2) frame.writeUInt16BE(length, 2)
  if (lengthBytes === 8) frame.writeBigUInt64BE(BigInt(length), 2)
  mask.copy(frame, start - 4)
  for (let at = 0; at < length; at++) frame[start + at] = (payload[at] ?? 0) ^ (mask[at & 3] ?? 0)
  return frame
}

/** Reads messages from what comes over a connection. */
export class FrameReader {
  readonly #bound: number
  #chunks: Buffer[] = []
  #size = 0
  /** Bytes that the next part has at least. */
  #needed = 2
  #parts: Buffer[] = []
  #partsSize = 0
  #opcode = 0

  /** @param bound bytes of a message at most */
  constructor(bound: number) {
    this.#bound = bound
  }

  /** The messages that are whole with this chunk. @throws RangeError a message that is too long, or what is no frame */
  *read(chunk: Buffer): Generator<Frame> {
    this.#chunks.push(chunk)
    this.#size += chunk.length
    while (this.#size >= this.#needed) {
      const bytes = this.#chunks.length === 1 ? (this.#chunks[0] ?? chunk) : Buffer.concat(this.#chunks)
      this.#chunks = [bytes]
      const header = headerOf(bytes)
      if (header === undefined) {
        this.#needed = this.#size + 1
        continue
      }
      const { start, length, first } = header
      if (length + this.#partsSize > this.#bound)
        throw new RangeError(
          `sent a message of more than ${this.#bound} bytes, which no answer to what it was asked can have`,
        )
      if (this.#size < start + length) {
        this.#needed = start + length
        continue
      }
      const rest = bytes.subarray(start + length)
      this.#chunks = rest.length === 0 ? [] : [rest]
      this.#size = rest.length
      this.#needed = 2
      yield* this.#part(first, bytes.subarray(start, start + length))
    }
  }

  *#part(first: number, payload: Buffer): Generator<Frame> {
    const opcode = first & 0x0f
    // Frames that control the connection may come between the parts of a message.
    if (opcode >= opcodes.close) return yield { opcode, payload }
    if (opcode !== opcodes.more) this.#opcode = opcode
    if ((first & 0x80) !== 0 && this.#parts.length === 0) return yield { opcode: this.#opcode, payload }
    this.#parts.push(Buffer.from(payload))
    this.#partsSize += payload.length
    if ((first & 0x80) === 0) return
    const whole = Buffer.concat(this.#parts)
    this.#parts = []
    this.#partsSize = 0
    yield { opcode: this.#opcode, payload: whole }
  }
}

/** @returns undefined where more bytes are needed */
function headerOf(
  bytes: Buffer,
): { readonly first: number; readonly start: number; readonly length: number } | undefined {
  const [first, second] = bytes
  if (first === undefined || second === undefined) return undefined
  // Compression was not asked for, and servers do not mask.
  if ((first & 0x70) !== 0 || (second & 0x80) !== 0)
    throw new RangeError('sent what is no message of a WebSocket')
  const short = second & 0x7f
  if (short < 126) return { first, start: 2, length: short }
  const start = short === 126 ? 4 : 10
  if (bytes.length < start) return undefined
  return { first, start, length: short === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2)) }
}
