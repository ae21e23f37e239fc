/**
 * Aside: where damaged files go, so that nothing is in the way of work and nothing is lost.
 *
 * Invariants
 * - A file or folder is moved whole, within its disk, under a name that no other has.
 */
import { existsSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder } from '../../machine/files/folder.ts'
import { storageFaultOf } from './fault.ts'
import type { Home } from './home.ts'

/** @param name what it was, as a file name @returns where it is now @throws StorageFault */
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
