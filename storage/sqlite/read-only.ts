/**
 * SQLite files where nothing can be written: a disk that is mounted read-only, another user's home, a backup.
 *
 * Invariants
 * - (1) Nothing in the folder of the file changes.
 * - (2) What a process that was killed left in the write-ahead log is read too. A log that SQLite can only read by
 *   writing beside it is read in a copy, which is gone when the database is closed.
 */
import { accessSync, constants, copyFileSync, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { storageFaultOf } from '../disk/fault.ts'

/** A database that is only looked at. */
export interface ReadOnlyDatabase extends Disposable {
  readonly database: DatabaseSync
  close(): void
}

/** Whether this process may write a file and beside it. */
export function isWritable(file: string): boolean {
  try {
    accessSync(dirname(file), constants.W_OK | constants.X_OK)
    if (existsSync(file)) accessSync(file, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** Opens a file for reading, whether it can be written or not. @throws StorageFault */
export function openForReading(file: string): ReadOnlyDatabase {
  try {
    return closing(attempt(new DatabaseSync(file, { readOnly: true })))
  } catch (error) {
    if (isWritable(file)) throw storageFaultOf(error, `store ${file}`)
    const isLogged = (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0
    if (isLogged) return openCopy(file)
    try {
      // `immutable` promises that nothing writes: without it SQLite needs to create files beside the store.
      const address = pathToFileURL(file)
      address.searchParams.set('immutable', '1')
      return closing(attempt(new DatabaseSync(address, { readOnly: true })))
    } catch (cause) {
      throw storageFaultOf(cause, `store ${file}`)
    }
  }
}

/** A copy in the folder of temporary files, which may be written. @throws StorageFault */
export function openCopy(file: string): ReadOnlyDatabase {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-copy-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  try {
    const copy = join(folder, basename(file))
    for (const suffix of ['', '-wal'])
      if (existsSync(file + suffix)) copyFileSync(file + suffix, copy + suffix)
    return closing(attempt(new DatabaseSync(copy)), remove)
  } catch (error) {
    remove()
    throw storageFaultOf(error, `store ${file}`)
  }
}

/** The first statement tells whether it can be read. */
function attempt(database: DatabaseSync): DatabaseSync {
  try {
    database.prepare('select 1 from sqlite_master').get()
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

function closing(database: DatabaseSync, afterwards: () => void = () => undefined): ReadOnlyDatabase {
  function close(): void {
    if (database.isOpen) database.close()
    afterwards()
  }
  return { database, close, [Symbol.dispose]: close }
}
