/**
 * Disk use: what lies in a home directory, and how much room its disk has.
 *
 * Invariants
 * - Only looks; what disappears while it is looked at counts as nothing.
 */
import { existsSync } from 'node:fs'
import { lstat, readdir, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { storageFaultOf } from './fault.ts'

/** Bytes of a file, or of all files below a folder; 0 where there is none. @throws StorageFault */
export async function bytesAt(path: string): Promise<number> {
  try {
    const found = await lstat(path)
    if (!found.isDirectory()) return found.size
    const sizes = await Promise.all((await readdir(path)).map((name) => bytesAt(join(path, name))))
    return sizes.reduce((sum, size) => sum + size, 0)
  } catch (error) {
    const fault = storageFaultOf(error, path)
    if (fault.kind === 'missing') return 0
    throw fault
  }
}

/** Bytes of a file of SQLite, with those beside it. @throws StorageFault */
export async function bytesWithLog(file: string): Promise<number> {
  const sizes = await Promise.all([file, `${file}-wal`, `${file}-shm`].map(bytesAt))
  return sizes.reduce((sum, size) => sum + size, 0)
}

/** Names in a folder; none where there is no folder. @throws StorageFault */
export async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    const fault = storageFaultOf(error, folder)
    if (fault.kind === 'missing') return []
    throw fault
  }
}

/** Room on a disk, in bytes. */
export interface DiskSpace {
  /** Bytes that this user may still write. */
  readonly free: number
  readonly total: number
}

/** The disk of a path that need not exist yet. @throws StorageFault */
export async function diskSpace(path: string): Promise<DiskSpace> {
  const existing = existsSync(path) || dirname(path) === path ? path : undefined
  if (existing === undefined) return diskSpace(dirname(path))
  try {
    const { bavail, blocks, bsize } = await statfs(existing)
    return { free: bavail * bsize, total: blocks * bsize }
  } catch (error) {
    throw storageFaultOf(error, `disk of ${path}`)
  }
}

/** A limit of free space: in bytes and as a share, of which the smaller counts, so that it fits disks of all sizes. */
export interface FreeLimit {
  readonly bytes: number
  readonly share: number
}

/** True where less than the limit is free. */
export function isShort({ free, total }: DiskSpace, { bytes, share }: FreeLimit): boolean {
  return free < Math.min(bytes, share * total)
}
