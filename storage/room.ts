/**
 * Room to start: what has to be free on the disk of a home before anything is opened there.
 *
 * Invariants
 * - A disk without room is named with what is free and what is needed, before anything is half made on it.
 */
import { existsSync, type StatsFs, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { StorageFault, storageFaultOf } from './fault.ts'

/** The files of store and server as they are when they are new, with their logs. */
const neededMegabytes = 16
/** Files and folders of a home with one run. */
const neededNames = 200
const megabyte = 1e6

/** @param dir need not exist yet @throws StorageFault `disk_full` */
export function requireRoom(dir: string): void {
  const { bavail, bsize, files, ffree } = spaceAt(dir)
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
