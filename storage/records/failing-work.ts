/**
 * Failing work: work that a run keeps retrying, with the reason, for readers in other processes.
 *
 * Invariants
 * - [FAILING-WORK-1] A run has one row for each kind of work; success removes it.
 * - [FAILING-WORK-2] A row of a process that died is not shown for long: only rows renewed lately count.
 */
import type { Kysely } from 'kysely'
import type { RunId } from '../../identity/identity.ts'
import type { Schema } from '../tables/schema.ts'

/** Work that has failed, or has not answered, and is tried again. */
export interface FailingWork {
  /** Name of the activity, or `environment` for a call that has not answered. */
  readonly work: string
  readonly reason: string
  /** The attempt that failed last, from 1; 0 where none has failed yet. */
  readonly attempt: number
  /** Milliseconds since the epoch. */
  readonly time: number
}

export interface FailingWorks {
  put(run: RunId, failing: FailingWork): Promise<void>
  /** @param work every kind by default */
  remove(run: RunId, work?: string): Promise<void>
  /** The latest first. */
  list(run: RunId, now: number): Promise<readonly FailingWork[]>
}

/** Attempts are half a minute apart at most, and a hanging environment takes some minutes. */
const shownMs = 10 * 60_000

export function createFailingWorks(db: Kysely<Schema>): FailingWorks {
  return {
    async put(run, failing) {
      await db
        .insertInto('failing_work')
        .values({ run, ...failing })
        .onConflict((row) => row.columns(['run', 'work']).doUpdateSet(failing))
        .execute()
    },
    async remove(run, work) {
      const rows = db.deleteFrom('failing_work').where('run', '=', run)
      await (work === undefined ? rows : rows.where('work', '=', work)).execute()
    },
    list: (run, now) =>
      db
        .selectFrom('failing_work')
        .select(['work', 'reason', 'attempt', 'time'])
        .where('run', '=', run)
        .where('time', '>', now - shownMs)
        .orderBy('time', 'desc')
        .execute(),
  }
}
