import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { readText, readTextSync, TextFault, textLines } from './text-file.ts'

const dir = mkdtempSync(join(tmpdir(), 'perdure-text-'))
const file = join(dir, 'text')
afterAll(() => rmSync(dir, { recursive: true }))

async function linesOf(chunks?: readonly Uint8Array[]): Promise<string[]> {
  const lines: string[] = []
  for await (const line of textLines(file, chunks && asStream(chunks))) lines.push(line)
  return lines
}

async function* asStream(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks
}

/** Every byte by itself: no rule depends on where the chunks of a file end. */
function byteByByte(bytes: Uint8Array): Uint8Array[] {
  return Array.from(bytes, (_, at) => bytes.subarray(at, at + 1))
}

const utf16be = (text: string) => Buffer.from(text, 'utf16le').swap16()

describe.each<readonly [what: string, bytes: Buffer]>([
  ['LF', Buffer.from('é\n\n"\u2028"\nlast')],
  ['CRLF', Buffer.from('é\r\n\r\n"\u2028"\r\nlast')],
  ['a lone CR', Buffer.from('é\r\r"\u2028"\rlast')],
  ['all ends mixed', Buffer.from('é\r\n\r"\u2028"\nlast')],
  ['a byte order mark', Buffer.from('\ufeffé\n\n"\u2028"\nlast')],
  ['UTF-16, little end first', Buffer.from('\ufeffé\r\n\r\n"\u2028"\r\nlast', 'utf16le')],
  ['UTF-16, big end first', utf16be('\ufeffé\n\n"\u2028"\nlast')],
])('a file with %s', (_, bytes) => {
  it('has the same text in every way of reading [TEXT-FILE-2] [TEXT-FILE-3]', async () => {
    writeFileSync(file, bytes)
    const lines = ['é', '', '"\u2028"', 'last']
    expect(await readText(file)).toBe(lines.join('\n'))
    expect(readTextSync(file)).toBe(lines.join('\n'))
    expect(await linesOf()).toEqual(lines)
    expect(await linesOf(byteByByte(bytes))).toEqual(lines)
  })
})

describe.each<readonly [what: string, bytes: Buffer, place: string]>([
  ['bytes that are no UTF-8', Buffer.from('one\ntwo \xff\n', 'latin1'), 'line 2: bytes that are no UTF-8'],
  ['a character cut short', Buffer.from('one\n€').subarray(0, -1), 'line 2: bytes that are no UTF-8'],
  ['a NUL', Buffer.from('one\r\ntwo\r\nth\0ree'), 'line 3: a NUL'],
  ['UTF-16 without a mark', Buffer.from('one\n', 'utf16le'), 'line 1: a NUL'],
])('a file with %s', (_, bytes, place) => {
  it('is refused with its line [TEXT-FILE-1]', async () => {
    writeFileSync(file, bytes)
    const fault = expect.objectContaining({
      kind: 'no_text',
      message: expect.stringContaining(`${file}, ${place}`),
    })
    await expect(readText(file)).rejects.toEqual(fault)
    expect(() => readTextSync(file)).toThrow(TextFault)
    await expect(linesOf()).rejects.toEqual(fault)
  })
})

it('a file beyond the limit is refused, also where its size cannot be known before [TEXT-FILE-1]', async () => {
  const fault = expect.objectContaining({ kind: 'too_large' })
  await expect(readText('/dev/zero', 1 << 20)).rejects.toEqual(fault)
  expect(() => readTextSync('/dev/zero', 1 << 20)).toThrow('longer than 1 MiB')
})

it('a file that is not there is named with the reason', async () => {
  await expect(readText(join(dir, 'none'))).rejects.toMatchObject({ kind: 'missing' })
  expect(() => readTextSync(dir)).toThrow('EISDIR')
})
