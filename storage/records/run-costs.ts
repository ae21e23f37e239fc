/**
 * Costs of runs: processor time that the processes with workers have spent on each, and had spent when a version was published.
 *
 * Invariants
 * - Costs only grow; processes add theirs in any order.
 * - [COST-OF-VERSION-1] A version keeps the time and the cost of its first publication.
 * - The process that publishes counts before; the time of other processes with workers is up to five seconds late. Where several
 *   runs are in progress, each is charged an equal part.
 */
import { type Kysely, sql } from 'kysely'
import type { RunId } from '../../identity/identity.ts'
import type { Published } from '../metrics/spending.ts'
import { insertOnce, type Precedence } from '../tables/codec.ts'
import type { Schema } from '../tables/schema.ts'

export interface RunCosts {
  add(run: RunId, cpuSeconds: number): Promise<void>
  /** Undefined where nothing was counted. */
  cpuSeconds(run: RunId): Promise<number | undefined>
  /** Keeps the cost of now for a version. */
  publish(run: RunId, version: number, at: number): Promise<Precedence>
  /** By version; none of versions that earlier builds published. */
  published(run: RunId): Promise<ReadonlyMap<number, Published>>
}

export function createRunCosts(db: Kysely<Schema>): RunCosts {
  async function cpuSeconds(run: RunId) {
    const row = await db
      .selectFrom('run_costs')
      .select('cpu_seconds')
      .where('run', '=', run)
      .executeTakeFirst()
    return row?.cpu_seconds
  }

  return {
    cpuSeconds,

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

    async publish(run, version, at) {
      const cpu_seconds = (await cpuSeconds(run)) ?? 0
      return await insertOnce(db.insertInto('published_versions').values({ run, version, at, cpu_seconds }))
    },

    async published(run) {
      const rows = await db.selectFrom('published_versions').selectAll().where('run', '=', run).execute()
      return new Map(rows.map(({ version, at, cpu_seconds }) => [version, { at, cpuSeconds: cpu_seconds }]))
    },
  }
}
