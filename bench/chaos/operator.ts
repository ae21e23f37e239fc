/**
 * The operator: a run that has paused itself because its disk was full is continued when there is room again.
 *
 * Invariants
 * - It orders nothing else, and nothing while the disk is short.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { TrainingSession } from '../../client/training-session.ts'
import { diskSpace } from '../../storage/disk-use.ts'

const lookEveryMs = 500
/** What the disk has free when nothing fills it, and not when something does. */
const roomBytes = 64e6

export interface Operator extends AsyncDisposable {
  /** The run to look after from now on. */
  watch(run: string): void
}

export function employ(session: TrainingSession, home: string): Operator {
  const leaving = new AbortController()
  let watched: string | undefined

  async function look(run: string): Promise<void> {
    if ((await session.progress(run)).phase !== 'paused') return
    if ((await diskSpace(home)).free >= roomBytes) await session.continue(run)
  }

  async function work(): Promise<void> {
    while (!leaving.signal.aborted) {
      // Where the server is dead just now there is nothing to order; the next look comes soon.
      if (watched !== undefined) await look(watched).catch(() => undefined)
      await delay(lookEveryMs, undefined, { signal: leaving.signal }).catch(() => undefined)
    }
  }

  const working = work()
  return {
    watch(run) {
      watched = run
    },
    async [Symbol.asyncDispose]() {
      leaving.abort()
      await working
    },
  }
}
