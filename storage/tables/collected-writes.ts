/**
 * Writes that are committed together: one that comes alone at once, and under load those of some milliseconds.
 *
 * Invariants
 * - Commits follow one another; a write waits for the commit that begins after it came.
 */
import { clock } from '../../machine/services/clock.ts'

/** Between two commits: a small part of a turn, in which several episodes come to write. */
const collectMs = 3

export interface CollectedWrites<Write> {
  add(write: Write): void
  /** Settles when every write has been committed, or has failed. */
  settled(): Promise<void>
}

/** @param commit settles each of the writes, and rejects for none */
export function collectWrites<Write>(
  commit: (writes: readonly Write[]) => Promise<void>,
): CollectedWrites<Write> {
  let waiting: Write[] = []
  let committing = Promise.resolve()
  let isDue = false
  let lastCommit = Number.NEGATIVE_INFINITY

  function commitSoon(): void {
    if (isDue) return
    isDue = true
    const wait = lastCommit + collectMs - clock.monotonic()
    if (wait > 0) clock.after(wait, commitNext)
    else setImmediate(commitNext)
  }

  function commitNext(): void {
    isDue = false
    committing = committing.then(commitWaiting)
  }

  async function commitWaiting(): Promise<void> {
    if (waiting.length === 0) return
    const writes = waiting
    waiting = []
    await commit(writes)
    lastCommit = clock.monotonic()
  }

  return {
    add(write) {
      waiting.push(write)
      commitSoon()
    },
    async settled() {
      do {
        commitNext()
        await committing
      } while (waiting.length > 0)
    },
  }
}
