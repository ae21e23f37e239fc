/**
 * Who uses the embedded server of a home directory.
 *
 * Invariants
 * - A user counts as long as its process lives and has not left; one that was killed does not count.
 * - Joining and counting happen under the home's start lock, so a server is never stopped under a newcomer.
 */
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from '../../faults/system-error.ts'
import { makeFolder } from '../../machine/files/folder.ts'
import { chance } from '../../machine/services/chance.ts'
import { isWritable } from '../../storage/sqlite/read-only.ts'
import { type FileLock, tryLock } from './file-lock.ts'

/** One user's membership. */
export interface ServerUser {
  /** May be called twice. */
  leave(): void
}

/** Joins the users kept in the folder; a crash leaves by itself. */
export function joinUsers(folder: string): ServerUser {
  makeFolder(folder)
  const file = join(folder, `${process.pid}-${chance.uuid()}`)
  const lock: FileLock | undefined = tryLock(file)
  if (lock === undefined) throw new Error(`${file} is new and yet locked`)
  return {
    leave() {
      lock.release()
      rmSync(file, { force: true })
    },
  }
}

/** Counts the living users and forgets the dead. */
export function countUsers(folder: string): number {
  let living = 0
  for (const name of readFolder(folder)) {
    const file = join(folder, name)
    // A process that uses a home writes to it.
    if (!isWritable(file)) continue
    const lock = tryLock(file)
    if (lock === undefined) living += 1
    else {
      lock.release()
      rmSync(file, { force: true })
    }
  }
  return living
}

function readFolder(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return []
    throw error
  }
}
