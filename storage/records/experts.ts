/**
 * Experts: the success of a task's expert on the suites of a run, for comparison with the policy.
 *
 * Invariants
 * - An expert is measured once on each suite.
 */
import type { Kysely } from 'kysely'
import type { RunId } from '../../identity/identity.ts'
import { insertOnce, type Precedence } from '../tables/codec.ts'
import type { Schema } from '../tables/schema.ts'

/** The expert on one suite. */
export interface StoredExpert {
  readonly suite: string
  /** Share of the instances that it wins, in [0, 1]. */
  readonly success: number
  /** Instances. */
  readonly n: number
}

export interface Experts {
  insert(run: RunId, expert: StoredExpert): Promise<Precedence>
  /** By the names of suites; none of runs whose tasks have no expert. */
  list(run: RunId): Promise<readonly StoredExpert[]>
}

export function createExperts(db: Kysely<Schema>): Experts {
  return {
    insert: (run, expert) => insertOnce(db.insertInto('experts').values({ run, ...expert })),
    list: (run) =>
      db
        .selectFrom('experts')
        .select(['suite', 'success', 'n'])
        .where('run', '=', run)
        .orderBy('suite')
        .execute(),
  }
}
