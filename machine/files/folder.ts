/**
 * Folders that are made where a person names them.
 *
 * Invariants
 * - [FOLDER-1] A place that takes no folders is refused at once. Node's own `recursive` tries for ever below `/proc`, on the
 *   thread that would hear of Ctrl-C.
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { codeOf } from '../../faults/system-error.ts'

/**
 * Makes a folder and those above it, as far as they are missing.
 * @returns the highest that was made; undefined where it was there
 * @throws an error of `node:fs`
 */
export function makeFolder(path: string): string | undefined {
  if (isFolder(path)) return undefined
  const parent = dirname(path)
  const highest = existsSync(parent) ? undefined : makeFolder(parent)
  try {
    mkdirSync(path)
  } catch (error) {
    // Another process may have made it meanwhile.
    if (codeOf(error) === 'EEXIST' && isFolder(path)) return highest
    throw error
  }
  return highest ?? path
}

/** Whether a folder can be made and written, which is left as it was. @throws an error of `node:fs` */
export function probeFolder(path: string): void {
  const made = makeFolder(path)
  try {
    rmSync(mkdtempSync(join(path, '.perdure-probe-')), { recursive: true })
  } finally {
    if (made !== undefined) rmSync(made, { recursive: true })
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
