/**
 * A file whose whole content follows from the store, and grows with it.
 *
 * Invariants
 * - [GROWN-1] Afterwards the file holds that content and nothing else, whatever it held before.
 * - [GROWN-2] A file that holds a prefix of the content is appended to, so that readers that follow it see it grow; any other
 *   is written beside and renamed.
 */
import {
  closeSync,
  constants,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { storageFaultOf } from './fault.ts'

/** Undefined where there is no file. @param what names the file in a fault */
export function contentOf(file: string, what: string): Buffer | undefined {
  try {
    return readFileSync(file)
  } catch (error) {
    const fault = storageFaultOf(error, what)
    if (fault.kind === 'missing') return undefined
    throw fault
  }
}

/**
 * Makes the file hold the content. The caller keeps others from writing the file meanwhile.
 * @param what names the file in a fault
 * @param beforeReplacing receives the old content before it is lost
 * @throws StorageFault
 */
export function growFile(
  file: string,
  wanted: Buffer,
  { what, beforeReplacing }: { what: string; beforeReplacing?: (found: Buffer) => void },
): void {
  const found = contentOf(file, what)
  try {
    if (addMissing(file, found, wanted)) return
    if (found !== undefined) beforeReplacing?.(found)
    const beside = join(dirname(file), `.${basename(file)}.partial`)
    writeFileSync(beside, wanted, { flush: true })
    renameSync(beside, file)
  } catch (error) {
    throw storageFaultOf(error, what)
  }
}

/** @returns false where the file holds no prefix of the content */
function addMissing(file: string, found: Buffer | undefined, wanted: Buffer): boolean {
  if (found === undefined || !wanted.subarray(0, found.byteLength).equals(found)) return false
  if (found.byteLength === wanted.byteLength) return true
  const descriptor = openSync(file, constants.O_WRONLY)
  try {
    for (let done = found.byteLength; done < wanted.byteLength; )
      done += writeSync(descriptor, wanted, done, wanted.byteLength - done, done)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
  return true
}
