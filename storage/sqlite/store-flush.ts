/**
 * Flush of the store: one wait for the disk on behalf of all commits that came before it.
 *
 * SQLite could wait for the disk at every commit (`synchronous = full`), but it would block the thread that all episodes of a
 * process share. Here commits go to the write-ahead log at once, and the log is flushed beside the thread's work, before
 * anything outside the store relies on them.
 *
 * Invariants
 * - [STORE-FLUSH-1] A flush covers every transaction of this process that was committed before the call.
 * - Without a commit since the last flush nothing is done.
 */
import type { DatabaseSync } from 'node:sqlite'
import { createFileFlush } from '../../machine/files/file-flush.ts'
import { storageFaultOf } from '../disk/fault.ts'

/**
 * @param flushLog flushes the write-ahead log; a checkpoint flushes both files by itself, so pages that have left the log are on
 *   the disk
 * @returns flushes the store; it throws a StorageFault
 */
export function createStoreFlush(
  database: DatabaseSync,
  file: string,
  flushLog: () => Promise<void> = createFileFlush(`${file}-wal`),
): () => Promise<void> {
  const changes = database.prepare('select total_changes() as count')
  // Changes of the schema are not counted: the first flush is made in any case.
  let flushedChanges = -1

  return async () => {
    if (!database.isOpen) return
    const count = Number(changes.get()?.count)
    // The changes of an open transaction count already, and are committed later.
    const isCommitted = !database.isTransaction
    if (count === flushedChanges) return
    try {
      await flushLog()
    } catch (error) {
      throw storageFaultOf(error, `store ${file}`)
    }
    if (isCommitted) flushedChanges = Math.max(flushedChanges, count)
  }
}
