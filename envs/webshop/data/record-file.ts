/**
 * Files of many JSON objects, read one at a time: an array of them, an object of them by name, or one a line.
 *
 * Invariants
 * - A file is read once from start to end, and never held as a whole: files of several gigabytes work.
 * - A record can be read again by its place, from the disk.
 * - Records come in the order of the file.
 * - A file that is read to its end is read in full: one that is cut short, no UTF-8, or holds anything but records is refused.
 */
import { closeSync, createReadStream, openSync, readSync } from 'node:fs'
import { GrowingList } from '../../../worlds/search/growing.ts'

const quote = 0x22
const backslash = 0x5c
const openBrace = 0x7b
const closeBrace = 0x7d
const openBracket = 0x5b
const closeBracket = 0x5d

// A byte that is no UTF-8 would become another character without a word.
const utf8 = new TextDecoder('utf-8', { fatal: true })
const byteOrderMark = [0xef, 0xbb, 0xbf]
const blanksAndMarks = new Set(Buffer.from(' \t\r\n,:'))

function isBetween(byte: number, place: number): boolean {
  return blanksAndMarks.has(byte) || byteOrderMark[place] === byte
}

/** One record of a file. */
export interface JsonRecord {
  /** The name before it, where the file is an object of records. */
  readonly name: string
  readonly text: string
}

/** A file of records; `close` it when nothing more is read. */
export class RecordFile {
  readonly path: string
  readonly #starts = new GrowingList((length) => new Float64Array(length))
  readonly #lengths = new GrowingList((length) => new Uint32Array(length))
  #handle: number | undefined

  private constructor(path: string) {
    this.path = path
  }

  /**
   * Reads a file.
   * @param named whether the file is an object of records by name
   * @param visit is given every record, and says whether to keep its place; `undefined` ends the reading
   * @throws Error as the file system words it, or with the byte that is no part of a record
   */
  static async open(
    path: string,
    named: boolean,
    visit: (record: JsonRecord) => boolean | undefined,
  ): Promise<RecordFile> {
    const file = new RecordFile(path)
    const scanner = new RecordScanner(named)
    for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 }))
      for (const { start, length, record } of scanner.scan(chunk)) {
        const kept = visit(record)
        if (kept === undefined) return file
        if (!kept) continue
        file.#starts.push(start)
        file.#lengths.push(length)
      }
    scanner.end()
    return file
  }

  /** Records that were kept. */
  get size(): number {
    return this.#starts.length
  }

  /** The text of a kept record. */
  read(index: number): string {
    const start = this.#starts.view()[index]
    const length = this.#lengths.view()[index]
    if (start === undefined || length === undefined)
      throw new RangeError(`${this.path} has ${this.size} records: there is no record ${index}`)
    this.#handle ??= openSync(this.path, 'r')
    const bytes = Buffer.allocUnsafe(length)
    readSync(this.#handle, bytes, 0, length, start)
    return bytes.toString()
  }

  /** May be called twice; a closed file opens again when it is read. */
  close(): void {
    if (this.#handle !== undefined) closeSync(this.#handle)
    this.#handle = undefined
  }
}

interface ScannedRecord {
  readonly start: number
  readonly length: number
  readonly record: JsonRecord
}

/** Finds records in a stream of bytes. */
class RecordScanner {
  readonly #named: boolean
  /** Bytes of the file before the current chunk. */
  #before = 0
  #depth = 0
  /** Depth that records are opened at: 0 in files of lines, 1 within an array or an object; -1 before all. */
  #recordDepth = -1
  #inText = false
  #escaped = false
  /** The kind of text being gathered, where in the file it starts, and its parts from earlier chunks. */
  #gathered: 'nothing' | 'name' | 'record' = 'nothing'
  #start = 0
  #parts: Buffer[] = []
  #name = ''

  /** @param named whether records stand in an object, each after its name */
  constructor(named: boolean) {
    this.#named = named
  }

  *scan(chunk: Buffer): Generator<ScannedRecord> {
    let from = 0
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] ?? 0
      if (this.#inText) {
        if (this.#escaped) this.#escaped = false
        else if (byte === backslash) this.#escaped = true
        else if (byte === quote) {
          this.#inText = false
          if (this.#gathered === 'name') this.#name = this.#taken(chunk, from, at + 1)
        }
      } else if (byte === quote) {
        this.#inText = true
        if (this.#named && this.#depth === 1) from = this.#gather('name', at)
        else if (this.#gathered === 'nothing') throw this.#stray(at)
      } else if (byte === openBrace || byte === openBracket) {
        if (this.#opensRecord(byte)) from = this.#gather('record', at)
        this.#depth++
      } else if (byte === closeBrace || byte === closeBracket) {
        this.#depth--
        if (this.#gathered === 'record' && this.#depth === this.#recordDepth) {
          const length = this.#before + at + 1 - this.#start
          const text = this.#taken(chunk, from, at + 1)
          yield { start: this.#start, length, record: { name: this.#nameText(), text } }
        }
      } else if (this.#gathered === 'nothing' && !isBetween(byte, this.#before + at)) throw this.#stray(at)
    }
    if (this.#gathered !== 'nothing') this.#parts.push(Buffer.from(chunk.subarray(from)))
    this.#before += chunk.length
  }

  /** @throws Error where something is open */
  end(): void {
    if (this.#gathered !== 'nothing' || this.#depth !== 0)
      throw new Error(`it is cut short after ${this.#before} bytes`)
  }

  #stray(at: number): Error {
    return new Error(
      `byte ${this.#before + at} is no part of a record: the file is no JSON in UTF-8, or of another form`,
    )
  }

  /** Whether a bracket opens a record, rather than the list that holds the records. */
  #opensRecord(byte: number): boolean {
    if (this.#recordDepth >= 0) return this.#gathered === 'nothing' && this.#depth === this.#recordDepth
    const holdsRecords = byte === openBracket || this.#named
    this.#recordDepth = holdsRecords ? 1 : 0
    return !holdsRecords
  }

  /** @returns where in the chunk what is gathered begins */
  #gather(what: 'name' | 'record', at: number): number {
    this.#gathered = what
    this.#start = this.#before + at
    return at
  }

  #taken(chunk: Buffer, from: number, to: number): string {
    this.#parts.push(chunk.subarray(from, to))
    const bytes = this.#parts.length === 1 ? (this.#parts[0] ?? chunk) : Buffer.concat(this.#parts)
    this.#parts = []
    this.#gathered = 'nothing'
    return utf8.decode(bytes)
  }

  #nameText(): string {
    return this.#name === '' ? '' : String(JSON.parse(this.#name))
  }
}
