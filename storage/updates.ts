/**
 * Updates: what each step of a run made of which groups.
 *
 * Invariants
 * - (run, step) is written once; the first result is kept.
 */
import type { Kysely, Selectable } from 'kysely'
import type { GroupId, RunId } from '../identity/identity.ts'
import { insertOnce, jsonOf, type Precedence } from './codec.ts'
import type { Schema, UpdatesTable } from './schema.ts'

export interface StoredUpdate {
  readonly run: RunId
  readonly step: number
  /** The version that it published. */
  readonly version: number
  /** JSON object with the update's figures. */
  readonly statistics: Readonly<Record<string, unknown>>
  readonly groups: readonly GroupId[]
  readonly created: number
}

export interface Updates {
  put(update: StoredUpdate): Promise<Precedence>
  get(run: RunId, step: number): Promise<StoredUpdate | undefined>
  latest(run: RunId): Promise<StoredUpdate | undefined>
  /** In the order of steps. */
  list(run: RunId): Promise<StoredUpdate[]>
}

export function createUpdates(db: Kysely<Schema>): Updates {
  return {
    put({ statistics, groups, ...update }) {
      const columns = { statistics: JSON.stringify(statistics), groups: JSON.stringify(groups) }
      return insertOnce(db.insertInto('updates').values({ ...update, ...columns }))
    },

    async get(run, step) {
      const row = await db
        .selectFrom('updates')
        .selectAll()
        .where('run', '=', run)
        .where('step', '=', step)
        .executeTakeFirst()
      return row === undefined ? undefined : updateOf(row)
    },

    async latest(run) {
      const row = await db
        .selectFrom('updates')
        .selectAll()
        .where('run', '=', run)
        .orderBy('step', 'desc')
        .limit(1)
        .executeTakeFirst()
      return row === undefined ? undefined : updateOf(row)
    },

    async list(run) {
      const rows = await db.selectFrom('updates').selectAll().where('run', '=', run).orderBy('step').execute()
      return rows.map(updateOf)
    },
  }
}

function updateOf(row: Selectable<UpdatesTable>): StoredUpdate {
  return {
    run: row.run as RunId,
    step: row.step,
    version: row.version,
    statistics: jsonOf(row.statistics, `update ${row.step} of run ${row.run}: statistics`),
    groups: jsonOf(row.groups, `update ${row.step} of run ${row.run}: groups`),
    created: row.created,
  }
}
