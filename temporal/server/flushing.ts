/**
 * Flushing of the embedded server's file, which the server itself leaves to the operating system.
 *
 * Invariants
 * - [FLUSHING-1] While a process uses the server, a power cut takes back at most about a second of what the server has
 *   written, and nothing that it had written before `flushed` was called.
 * - A disk that fails is reported once, until it works again.
 */
import { reasonOf } from '../../faults/reason.ts'
import { createFileFlush } from '../../machine/files/file-flush.ts'
import { clock } from '../../machine/services/clock.ts'

/** The server flushes its log when it is full, which may take minutes. A flush costs less than a millisecond of work. */
const flushEveryMs = 1_000

export interface Flushing {
  /** Settles when what the server has written is on the disk. */
  flushed(): Promise<void>
  close(): void
}

/** @param database the server's file @param flush flushes its write-ahead log */
export function flushRegularly(
  database: string,
  log: (line: string) => void,
  flush: () => Promise<void> = createFileFlush(`${database}-wal`),
): Flushing {
  let isReported = false

  async function flushOnce(): Promise<void> {
    try {
      await flush()
      isReported = false
    } catch (error) {
      if (!isReported) log(`${database} cannot be written to the disk: ${reasonOf(error)}`)
      isReported = true
    }
  }

  const timer = clock.every(flushEveryMs, () => void flushOnce())
  timer.unref()
  return { flushed: flush, close: () => timer.cancel() }
}
