/**
 * Text files that people give: configurations, data sets, chat templates. Readers of such files read through here.
 *
 * Invariants
 * - [TEXT-FILE-1] A text is read to its end or is a TextFault that names file and line: bytes that are no text are neither replaced nor left out.
 * - [TEXT-FILE-2] Lines end at a line feed, a carriage return or both, and nowhere else: JSON strings may hold U+2028.
 * - [TEXT-FILE-3] A byte order mark is no part of the text, and UTF-16 is read where it has one.
 */
import { isUtf8 } from 'node:buffer'
import { closeSync, createReadStream, openSync, readSync } from 'node:fs'
import { TextDecoder } from 'node:util'
import { Fault } from '../../faults/fault.ts'
import { reasonOf } from '../../faults/reason.ts'
import { systemFailureOf } from '../../faults/system-error.ts'

/** A file that cannot be read as text. */
export class TextFault extends Fault<'missing' | 'unreadable' | 'too_large' | 'no_text'> {
  override readonly name = 'TextFault'
  protected static override readonly permanentKinds = 'all'
}

/** Larger than every published file that is read as a whole, and below the longest string of Node. */
const sizeLimit = 256 * 2 ** 20
const chunkSize = 1 << 20

/** Reads a whole file; its lines end at line feeds. @param limit in bytes @throws TextFault */
export async function readText(file: string, limit = sizeLimit): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of bytesOf(file)) {
    size += chunk.byteLength
    if (size > limit) throw tooLarge(file, limit)
    chunks.push(chunk)
  }
  return decodeText(Buffer.concat(chunks), file)
}

/** Does the same as `readText` before it returns. @throws TextFault */
export function readTextSync(file: string, limit = sizeLimit): string {
  const chunks: Uint8Array[] = []
  let size = 0
  let descriptor: number | undefined
  try {
    descriptor = openSync(file, 'r')
    for (;;) {
      const chunk = new Uint8Array(chunkSize)
      const read = readSync(descriptor, chunk)
      if (read === 0) break
      size += read
      if (size > limit) throw tooLarge(file, limit)
      chunks.push(chunk.subarray(0, read))
    }
  } catch (cause) {
    throw unreadable(file, cause)
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
  return decodeText(Buffer.concat(chunks), file)
}

/**
 * Reads a file of any size by its lines, the empty ones too.
 * @param source the bytes of the text, where they are not those of the file
 * @throws TextFault
 */
export async function* textLines(
  file: string,
  source: AsyncIterable<Uint8Array> = bytesOf(file),
): AsyncGenerator<string> {
  const decoding = new Decoding(file)
  let line = ''
  const split = (text: string): string[] => {
    const [first = '', ...others] = text.split('\n')
    line += first
    const last = others.pop()
    const lines = last === undefined ? [] : [line, ...others]
    line = last ?? line
    if (line.length > sizeLimit) throw tooLarge(file, sizeLimit)
    return lines
  }
  for await (const chunk of source) yield* split(decoding.decode(chunk, false))
  yield* split(decoding.decode(new Uint8Array(), true))
  if (line !== '') yield line
}

/** The text of a whole file whose bytes are read. @throws TextFault */
export function decodeText(bytes: Uint8Array, file: string): string {
  return new Decoding(file).decode(bytes, true)
}

/** Ends every line with a line feed, as the readers of YAML and Jinja do. */
export function withLineFeeds(text: string): string {
  return text.replaceAll(/\r\n?/g, '\n')
}

async function* bytesOf(file: string): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of createReadStream(file, { highWaterMark: chunkSize })) yield chunk
  } catch (cause) {
    throw unreadable(file, cause)
  }
}

/** Decodes the chunks of one file. */
class Decoding {
  readonly #file: string
  #decoder: TextDecoder | undefined
  /** Too few bytes to know the encoding by. */
  #head: Uint8Array = new Uint8Array()
  #isAfterReturn = false
  #line = 1

  constructor(file: string) {
    this.#file = file
  }

  decode(chunk: Uint8Array, isLast: boolean): string {
    const bytes = this.#head.byteLength === 0 ? chunk : Buffer.concat([this.#head, chunk])
    this.#head = new Uint8Array()
    if (this.#decoder === undefined && bytes.byteLength < 2 && !isLast) {
      this.#head = bytes
      return ''
    }
    this.#decoder ??= new TextDecoder(encodingOf(bytes), { fatal: true })
    let text: string
    try {
      text = this.#decoder.decode(bytes, { stream: !isLast })
    } catch (cause) {
      const named = this.#decoder.encoding.toUpperCase()
      throw this.#noText(linesBeforeDamage(bytes), `bytes that are no ${named}`, cause)
    }
    if (text === '') return ''
    const lines = withLineFeeds(this.#isAfterReturn && text.startsWith('\n') ? text.slice(1) : text)
    this.#isAfterReturn = text.endsWith('\r')
    const nul = lines.indexOf('\0')
    if (nul >= 0) throw this.#noText(countOf(lines.slice(0, nul)), 'a NUL')
    this.#line += countOf(lines)
    return lines
  }

  #noText(linesBefore: number, found: string, cause?: unknown): TextFault {
    const message = `${this.#file}, line ${this.#line + linesBefore}: ${found}; save the file as text in UTF-8`
    return new TextFault('no_text', message, { cause })
  }
}

function encodingOf([first, second]: Uint8Array): 'utf-8' | 'utf-16le' | 'utf-16be' {
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  return first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8'
}

function linesBeforeDamage(bytes: Uint8Array): number {
  let before = 0
  for (let start = 0; start < bytes.byteLength; before++) {
    const end = bytes.indexOf(0x0a, start)
    if (end < 0 || !isUtf8(bytes.subarray(start, end))) break
    start = end + 1
  }
  return before
}

function countOf(text: string): number {
  let count = 0
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++
  return count
}

function tooLarge(file: string, limit: number): TextFault {
  return new TextFault('too_large', `${file} is longer than ${limit / 2 ** 20} MiB: give a smaller file`)
}

function unreadable(file: string, cause: unknown): TextFault {
  if (cause instanceof TextFault) return cause
  if (systemFailureOf(cause) === 'missing')
    return new TextFault('missing', `${file} does not exist`, { cause })
  return new TextFault('unreadable', `${file} cannot be read: ${reasonOf(cause)}`, { cause })
}
