/**
 * Giving free pages of a store's file back to the file system.
 *
 * Invariants
 * - The write lock is held for milliseconds at once.
 */
import type { DatabaseSync } from 'node:sqlite'
import { storageFaultOf } from '../disk/fault.ts'

/** Pages given back at once. */
const pagesPerStep = 2000

/** @returns bytes @throws StorageFault */
export function shrinkSqlite(database: DatabaseSync): number {
  try {
    const before = pagesOf(database)
    for (let left = before; ; ) {
      database.exec(`pragma incremental_vacuum(${pagesPerStep})`)
      const pages = pagesOf(database)
      if (pages >= left) break
      left = pages
    }
    // Another process may be reading the log; then the next who closes the store shortens the file.
    database.exec('pragma wal_checkpoint(truncate)')
    return (before - pagesOf(database)) * Number(database.prepare('pragma page_size').get()?.page_size)
  } catch (error) {
    throw storageFaultOf(error, 'giving back free pages of the store')
  }
}

function pagesOf(database: DatabaseSync): number {
  return Number(database.prepare('pragma page_count').get()?.page_count)
}
