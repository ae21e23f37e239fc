/** Logs that are too long are found, and lose their beginning. */
import {
  appendFileSync,
  closeSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { longLogs, shortenLog } from './logs.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-logs-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const lines = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => `line ${String(from + i).padStart(4, '0')}\n`).join('')

it('keeps whole lines of the end, and finds nothing the second time', async () => {
  const file = join(folder, 'workers.log')
  writeFileSync(file, lines(0, 1000))
  writeFileSync(join(folder, 'short.log'), lines(0, 10))
  const found = await longLogs(folder, 4000)
  expect(found).toEqual([{ file, bytes: 8000 }])
  for (const log of found) await shortenLog(log)
  const left = readFileSync(file, 'utf8')
  expect(left.length).toBeLessThanOrEqual(2000)
  expect(left).toBe(lines(1000 - left.length / 10, 1000))
  expect(await longLogs(folder, 4000)).toEqual([])
})

it('a process that appends to it continues at its end', async () => {
  const file = join(folder, 'temporal.log')
  const descriptor = openSync(file, 'a')
  writeSync(descriptor, lines(0, 1000))
  for (const log of await longLogs(folder, 4000)) await shortenLog(log)
  writeSync(descriptor, 'by the process\n')
  closeSync(descriptor)
  appendFileSync(file, 'by another\n')
  expect(readFileSync(file, 'utf8')).toMatch(/line 0999\nby the process\nby another\n$/)
})

it('a folder that is not there has no logs', async () => {
  expect(await longLogs(join(folder, 'none'), 1)).toEqual([])
})
