/**
 * Aside: the folder for damaged files, which are neither in the way nor lost.
 *
 * Invariants
 * - A file or folder is moved whole, within its disk, under a name that no other has.
 */
import { existsSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder } from '../../machine/files/folder.ts'
import { storageFaultOf } from './fault.ts'
import type { Home } from './home.ts'

/** @param name new file name @returns the new path @throws StorageFault */
export function moveAside({ asideDir }: Home, path: string, name: string): string {
  try {
    makeFolder(asideDir)
    let target = join(asideDir, name)
    for (let n = 2; existsSync(target); n++) target = join(asideDir, `${name}-${n}`)
    renameSync(path, target)
    return target
  } catch (error) {
    throw storageFaultOf(error, path)
  }
}
