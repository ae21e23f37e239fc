/**
 * Compaction of the embedded server's file: pages of forgotten histories are given back to the disk.
 *
 * Invariants
 * - Only while no server serves the file, and none can start meanwhile: it happens under the start lock.
 * - A file that is mostly in use is left alone, as is one for whose copy the disk has no room.
 */
import { existsSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { diskSpace } from '../../storage/disk/disk-use.ts'
import { tryLock } from './file-lock.ts'
import { servesFile } from './process.ts'
import { readRecord, serverPaths } from './record.ts'
import { countUsers } from './users.ts'

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
