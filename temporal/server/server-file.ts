/**
 * The embedded server's file: flushed to the disk, which the server leaves to the operating system, and compacted, so that pages of
 * forgotten histories are given back.
 *
 * Invariants
 * - [FLUSHING-1] While a process uses the server, a power cut takes back at most about a second of what the server has
 *   written, and nothing that it had written before `flushed` was called.
 * - A disk that fails is reported once, until it works again.
 * - It is compacted only while no server serves it, and none can start meanwhile: this happens under the start lock.
 * - A file that is mostly in use is left alone, as is one for whose copy the disk has no room.
 */

import { existsSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { reasonOf } from '../../faults/reason.ts'
import { createFileFlush } from '../../machine/files/file-flush.ts'
import { clock } from '../../machine/services/clock.ts'
import { diskSpace } from '../../storage/disk/disk-use.ts'
import { tryLock } from './file-lock.ts'
import { servesFile } from './process.ts'
import { readRecord, serverPaths } from './record.ts'
import { countUsers } from './users.ts'

/** The server flushes its log when it is full, which may take minutes. A flush costs less than a millisecond of work. */
const flushEveryMs = 1_000

export interface Flushing {
  /** Settles when what the server has written is on the disk. */
  flushed(): Promise<void>
  close(): void
}

/** @param database the server's file @param flush flushes its write-ahead log */
export function flushRegularly(
  database: string,
  log: (line: string) => void,
  flush: () => Promise<void> = createFileFlush(`${database}-wal`),
): Flushing {
  let isReported = false

  async function flushOnce(): Promise<void> {
    try {
      await flush()
      isReported = false
    } catch (error) {
      if (!isReported) log(`${database} cannot be written to the disk: ${reasonOf(error)}`)
      isReported = true
    }
  }

  const timer = clock.every(flushEveryMs, () => void flushOnce())
  timer.unref()
  return { flushed: flush, close: () => timer.cancel() }
}

/** Share of free pages from which copying the rest is worth its time. */
const worthwhileShare = 0.1

/** @returns bytes given back; 0 where the file is in use, or not worth it */
export async function compactServerFile(home: string): Promise<number> {
  const paths = serverPaths(home)
  if (!existsSync(paths.database) || !existsSync(paths.locks)) return 0
  const { free } = await diskSpace(paths.home)
  using lock = tryLock(paths.startLock)
  if (lock === undefined) return 0
  const { pid } = readRecord(paths.record) ?? {}
  if (countUsers(paths.users) > 0 || (pid !== undefined && servesFile(pid, paths.database))) return 0
  const before = statSync(paths.database).size
  return free < before || !vacuumed(paths.database) ? 0 : Math.max(0, before - statSync(paths.database).size)
}

/** Copies what is in use to the front of the file, where that is worth it. */
function vacuumed(file: string): boolean {
  using database = new DatabaseSync(file)
  const pages = Number(database.prepare('pragma page_count').get()?.page_count)
  const unused = Number(database.prepare('pragma freelist_count').get()?.freelist_count)
  if (unused < worthwhileShare * pages) return false
  database.exec('vacuum')
  database.exec('pragma wal_checkpoint(truncate)')
  return true
}
