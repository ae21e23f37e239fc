import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { hashOfRows, hashOfTables } from './state-hash.ts'

function md5(text: string): string {
  return createHash('md5').update(text).digest('hex')
}

test('the hash is the one of sorted row hashes, five digits each, joined by commas', () => {
  const [first, second] = [md5('a,1').slice(0, 5), md5('b,2').slice(0, 5)].sort()
  expect(
    hashOfRows([
      ['b', '2'],
      ['a', '1'],
    ]),
  ).toBe(md5(`${first},${second}`))
})

test('the order of rows does not matter', () => {
  const rows = [['a'], ['b'], ['c']]
  expect(hashOfRows(rows.toReversed())).toBe(hashOfRows(rows))
})

test('NULLs are skipped, empty texts are not', () => {
  expect(hashOfRows([['a', null, 'b']])).toBe(hashOfRows([['a', 'b']]))
  expect(hashOfRows([['a', '', 'b']])).not.toBe(hashOfRows([['a', 'b']]))
})

test('a table without rows has no hash', () => {
  expect(hashOfRows([])).toBeNull()
})

test('hashes are joined up to 1,024 bytes: what sorts behind is not looked at', () => {
  // 171 rows of 5 digits and a comma each are 1,026 characters less one.
  const hashes = Array.from({ length: 400 }, (_, at) => md5(String(at)).slice(0, 5)).sort()
  expect(hashOfRows(Array.from({ length: 400 }, (_, at) => [String(at)]))).toBe(
    md5(hashes.join(',').slice(0, 1024)),
  )
})

test('of several tables the sorted hashes are joined by _', () => {
  expect(hashOfTables(['b', 'a'])).toBe('a_b')
  expect(hashOfTables(['b'])).toBe('b')
})
