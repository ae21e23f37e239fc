import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { RecordFile } from './record-file.ts'

let dir = ''
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'perdure-records-'))
})
afterEach(() => rm(dir, { recursive: true, force: true }))

const values = [{ a: '}] "\\' }, { b: { c: [1, { d: 2 }] } }, { e: 'é'.repeat(900_000) }, { f: [] }]

async function read(text: string, named: boolean): Promise<{ file: RecordFile; seen: [string, unknown][] }> {
  const name = path.join(dir, 'file.json')
  await writeFile(name, text)
  const seen: [string, unknown][] = []
  const file = await RecordFile.open(name, named, (record) => {
    seen.push([record.name, JSON.parse(record.text)])
    return true
  })
  return { file, seen }
}

test.each([
  ['an array', JSON.stringify(values, null, 1), false],
  ['lines', values.map((value) => JSON.stringify(value)).join('\n'), false],
])('records of %s come in order and can be read again by their place', async (_, text, named) => {
  const { file, seen } = await read(text, named)
  expect(seen.map(([, value]) => value)).toEqual(values)
  expect(file.size).toBe(4)
  for (const [at, value] of values.entries()) expect(JSON.parse(file.read(at))).toEqual(value)
  expect(() => file.read(4)).toThrow(RangeError)
  file.close()
  file.close()
})

test('records of an object have the names before them', async () => {
  const { file, seen } = await read(JSON.stringify({ one: values[0], 'tw"o': values[1] }), true)
  expect(seen).toEqual([
    ['one', values[0]],
    ['tw"o', values[1]],
  ])
  expect(JSON.parse(file.read(1))).toEqual(values[1])
  file.close()
})

test('a visitor that asks for no more ends the reading, and what it refuses is not kept', async () => {
  const name = path.join(dir, 'file.json')
  await writeFile(name, JSON.stringify(values))
  let calls = 0
  const file = await RecordFile.open(name, false, () => [false, true, undefined][calls++])
  expect([calls, file.size]).toEqual([3, 1])
  expect(JSON.parse(file.read(0))).toEqual(values[1])
  file.close()
})

const whole = '[{"a": 1}, {"b": 2}]'
test.each<readonly [what: string, bytes: Buffer, reason: string]>([
  ['cut short within a record', Buffer.from(whole.slice(0, -4)), 'cut short'],
  ['cut short after a record', Buffer.from(whole.slice(0, -1)), 'cut short'],
  ['with a value that is no record', Buffer.from('[{"a": 1}, 5]'), 'byte 11 is no part of a record'],
  ['with a text beside the records', Buffer.from('{"a": 1}\n"b"\n'), 'byte 9 is no part of a record'],
  ['in UTF-16', Buffer.from(`\ufeff${whole}`, 'utf16le'), 'byte 0 is no part of a record'],
  ['that is no UTF-8', Buffer.from('[{"a": "\xe9"}]', 'latin1'), 'encoded data'],
])('a file %s is refused', async (_, bytes, reason) => {
  const file = path.join(dir, 'file.json')
  await writeFile(file, bytes)
  await expect(RecordFile.open(file, false, () => true)).rejects.toThrow(reason)
})

test('a byte order mark, line ends of any kind and U+2028 within a text cost no record', async () => {
  const { seen } = await read('\ufeff{"a": "\u2028"}\r\n{"a": 2}\r{"a": 3}\n', false)
  expect(seen.map(([, value]) => value)).toEqual([{ a: '\u2028' }, { a: 2 }, { a: 3 }])
})
