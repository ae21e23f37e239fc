/**
 * Costs of runs: processor time that the processes with workers have spent on each.
 *
 * Invariants
 * - Costs only grow; processes add theirs in any order.
 */
import { type Kysely, sql } from 'kysely'
import type { RunId } from '../../identity/identity.ts'
import type { Schema } from '../sqlite/schema.ts'

export interface RunCosts {
  add(run: RunId, cpuSeconds: number): Promise<void>
  /** Undefined where nothing was counted. */
  cpuSeconds(run: RunId): Promise<number | undefined>
}

export function createRunCosts(db: Kysely<Schema>): RunCosts {
  return {
    async add(run, cpuSeconds) {
      await db
        .insertInto('run_costs')
        .values({ run, cpu_seconds: cpuSeconds })
        .onConflict((conflict) =>
          conflict
            .column('run')
            .doUpdateSet({ cpu_seconds: sql`run_costs.cpu_seconds + excluded.cpu_seconds` }),
        )
        .execute()
    },

    async cpuSeconds(run) {
      const row = await db
        .selectFrom('run_costs')
        .select('cpu_seconds')
        .where('run', '=', run)
        .executeTakeFirst()
      return row?.cpu_seconds
    },
  }
}
