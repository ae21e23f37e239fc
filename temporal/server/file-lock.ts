/**
 * A lock on a file that the operating system releases when its holder dies, however it dies.
 *
 * Invariants
 * - At most one holder at a time, among processes and within one process.
 * - A holder killed with SIGKILL holds nothing afterwards; no stale lock has to be recognised.
 *
 * SQLite's exclusive transaction is that lock: Node offers no `flock`, and SQLite also keeps holders
 * within one process apart, which POSIX locks alone do not. Nothing is ever written to the file.
 */
import { DatabaseSync } from 'node:sqlite'
import { systemFailureOf } from '../../faults/system-error.ts'
import { clock } from '../../machine/services/clock.ts'

const pollMs = 40

/** Connections of held locks: one that the garbage collector closed would release its lock. */
const held = new Set<DatabaseSync>()

/** A lock that is held. */
export interface FileLock extends Disposable {
  /** May be called twice. */
  release(): void
}

/**
 * Takes the lock if it is free.
 * @returns undefined when another process holds it
 * @throws the system's error when the file cannot be opened or created
 */
export function tryLock(file: string): FileLock | undefined {
  const database = new DatabaseSync(file, { timeout: 0 })
  try {
    // On disk the journal would be a second file beside the lock.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
  } catch (error) {
    database.close()
    if (systemFailureOf(error) === 'locked') return undefined
    throw error
  }
  held.add(database)
  function release(): void {
    if (held.delete(database)) database.close()
  }
  return { release, [Symbol.dispose]: release }
}

/**
 * Waits for the lock.
 * @returns undefined when it was not free within the time
 * @throws the signal's reason
 */
export async function lockWithin(
  file: string,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<FileLock | undefined> {
  const deadline = clock.monotonic() + timeoutMs
  for (;;) {
    signal?.throwIfAborted()
    const lock = tryLock(file)
    if (lock !== undefined || clock.monotonic() >= deadline) return lock
    await clock.sleep(pollMs)
  }
}
