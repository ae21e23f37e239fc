/**
 * Flushes of one file to the disk, shared by all callers that wait for one at the same time.
 *
 * Invariants
 * - [FLUSH-1] When a flush settles, everything that was written to the file before it was asked for is on the disk.
 * - [FLUSH-2] At most one flush is in progress and one is due, however many callers wait.
 * - The thread is not blocked while the disk works.
 */
import { open } from 'node:fs/promises'
import { codeOf } from '../../faults/system-error.ts'

/**
 * @returns flushes the file. A missing file has nothing to flush; another may have taken its place since the last
 *   flush, as a log that begins again. Errors are those of the file system.
 */
export function createFileFlush(file: string): () => Promise<void> {
  return sharedFlush(() => flush(file))
}

/** @param flushNow brings what was written before the call to the disk */
export function sharedFlush(flushNow: () => Promise<void>): () => Promise<void> {
  let current: Promise<void> | undefined
  let next: Promise<void> | undefined

  function start(): Promise<void> {
    current = flushNow().finally(() => {
      current = undefined
    })
    return current
  }

  return () => {
    if (current === undefined) return start()
    // The flush in progress may have begun before the caller's bytes were written.
    next ??= current
      .catch(() => undefined)
      .then(() => {
        next = undefined
        return start()
      })
    return next
  }
}

async function flush(file: string): Promise<void> {
  try {
    await using handle = await open(file, 'r')
    await handle.datasync()
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
  }
}
