/**
 * The disk of a home: its kind, and the free space that opening the home requires.
 *
 * Invariants
 * - [DISK-1] A home on a network file system is refused: SQLite's log is not safe there.
 * - A full disk is refused with its free and required bytes, before anything is half made on it.
 */
import { existsSync, type StatsFs, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { type FileSystem, fileSystemOf } from '../../machine/files/file-system.ts'
import { StorageFault, storageFaultOf } from './fault.ts'

/** The files of store and server as they are when they are new, with their logs. */
const neededMegabytes = 16
/** Files and folders of a home with one run. */
const neededNames = 200
const megabyte = 1e6

/** SQLite takes paths of 512 bytes; the longest below a home are locks with the suffix of a journal. */
const longestHome = 440

/** @param dir need not exist yet @throws StorageFault `network_disk`, `disk_full` */
export function requireDisk(dir: string): void {
  const length = Buffer.byteLength(dir)
  if (length > longestHome)
    throw new StorageFault(
      'no_permission',
      `the path of the home is ${length} bytes long, and SQLite can open files below one of at most ${longestHome}: choose a shorter one with --home (${dir})`,
    )
  refuseNetworkDisk(dir, fileSystemOf(dir))
  requireRoom(dir)
}

/** @throws StorageFault `network_disk` */
export function refuseNetworkDisk(dir: string, { name, kind }: FileSystem): void {
  if (kind === 'network')
    throw new StorageFault('network_disk', `${dir} ${networkWords(name)}; ${networkAdvice}`)
}

/** Explains why a home on a network file system is refused. */
export function networkWords(name: string): string {
  return `is on a network file system (${name}), where the databases of a home can be damaged`
}

export const networkAdvice =
  'choose a directory on a local disk with --home, and copy an existing home there while no process uses it'

function requireRoom(dir: string): void {
  const { bavail, blocks, bsize, files, ffree } = spaceAt(dir)
  if (blocks === 0)
    throw new StorageFault(
      'no_permission',
      `${dir} is on a file system that keeps no files (${fileSystemOf(dir).name}): choose another directory with --home`,
    )
  const free = (bavail * bsize) / megabyte
  const advice = 'make room, e.g. with `perdure clean`, or choose a directory on another disk with --home'
  if (free < neededMegabytes)
    throw new StorageFault(
      'disk_full',
      `the disk of ${dir} is full: ${free.toFixed(1)} MB are free, at least ${neededMegabytes} MB are needed to start; ${advice}`,
    )
  // Some file systems count no names.
  if (files > 0 && ffree < neededNames)
    throw new StorageFault(
      'disk_full',
      `the disk of ${dir} takes no more files: ${ffree} can be made, at least ${neededNames} are needed to start; ${advice}`,
    )
}

function spaceAt(dir: string): StatsFs {
  const parent = dirname(dir)
  if (!existsSync(dir) && parent !== dir) return spaceAt(parent)
  try {
    return statfsSync(dir)
  } catch (error) {
    throw storageFaultOf(error, `disk of ${dir}`)
  }
}
