import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { codeOf, systemFailureOf } from './system-error.ts'

function thrownBy(work: () => unknown): unknown {
  try {
    work()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

test('errors of real files and databases are read', () => {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-errors-'))
  try {
    const file = join(folder, 'file')
    writeFileSync(file, 'no database, and longer than the header of one would be: '.repeat(20))
    const missing = thrownBy(() => readFileSync(join(folder, 'gone')))
    expect([codeOf(missing), systemFailureOf(missing)]).toEqual(['ENOENT', 'missing'])
    expect(systemFailureOf(thrownBy(() => readFileSync(join(file, 'below'))))).toBe('not_a_directory')
    expect(systemFailureOf(thrownBy(() => readFileSync(folder)))).toBe('is_a_directory')
    const database = new DatabaseSync(file)
    expect(systemFailureOf(thrownBy(() => database.exec('CREATE TABLE a (b)')))).toBe('corrupt')
    database.close()
    expect(systemFailureOf(thrownBy(() => database.exec('SELECT 1')))).toBe('closed')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('codes of full, locked, closed to us and broken are distinguished', () => {
  const read = {
    ENOSPC: 'disk_full',
    EDQUOT: 'disk_full',
    EACCES: 'no_permission',
    EPERM: 'no_permission',
    EROFS: 'no_permission',
    EIO: 'io',
    EMFILE: 'io',
    ERR_INVALID_ARG_TYPE: 'unknown',
  }
  for (const [code, failure] of Object.entries(read))
    expect([code, systemFailureOf(Object.assign(new Error(code), { code }))]).toEqual([code, failure])
  // Extended codes of SQLite: SQLITE_BUSY_SNAPSHOT = 5 + 2 · 256, SQLITE_IOERR_READ = 10 + 256.
  const ofSqlite: readonly [number, string][] = [
    [5 + 2 * 256, 'locked'],
    [10 + 256, 'io'],
    [13, 'disk_full'],
    [8, 'no_permission'],
    [26, 'corrupt'],
    [1, 'unknown'],
  ]
  for (const [errcode, failure] of ofSqlite)
    expect([errcode, systemFailureOf({ code: 'ERR_SQLITE_ERROR', errcode })]).toEqual([errcode, failure])
})

test('whatever was thrown, there is an answer', () => {
  for (const thrown of [undefined, null, 'words', 7, {}, new Error('plain'), { code: 7 }]) {
    expect(systemFailureOf(thrown)).toBe('unknown')
    expect(codeOf(thrown)).toBeUndefined()
  }
})
