/**
 * Folders that are made where a person names them.
 *
 * Invariants
 * - [FOLDER-1] A place that takes no folders is refused at once. Node's own `recursive` tries for ever below `/proc`, on the
 *   thread that would hear of Ctrl-C.
 * - Such a path is refused, and the message gives the expanded one: the file system would take it for a folder of that name.
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
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

/** `$XDG_CACHE_HOME/perdure`, else `~/.cache/perdure`; `bin/perdure.mjs`, which runs before TypeScript does, says so too. */
export function cacheFolder(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'perdure')
}

/** Where warm starts are kept, each under what it follows from. */
export function warmStartsFolder(): string {
  return join(cacheFolder(), 'warm-starts')
}

/** Whether nothing that was trained may be taken from it: `PERDURE_NO_CACHE` is set. */
export function isCacheOff(): boolean {
  return Boolean(process.env.PERDURE_NO_CACHE)
}

/** The folder of Perdure's `package.json`. */
export const packageRoot = rootAbove(import.meta.dirname)

function rootAbove(folder: string): string {
  if (existsSync(join(folder, 'package.json'))) return folder
  const parent = dirname(folder)
  if (parent === folder) throw new Error('Perdure lies outside of its package: install it again.')
  return rootAbove(parent)
}

/** The path that a shell would make of one that begins with `~`, or how to write it; undefined for any other. */
export function withoutTilde(path: string): string | undefined {
  const match = /^~([^/]*)(?:\/(.*))?$/s.exec(path)
  if (match === null) return undefined
  const [, user = '', rest = ''] = match
  return user === '' ? join(homedir(), rest) : 'an absolute path'
}
