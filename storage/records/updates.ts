/**
 * Updates: what each step of a run made of which groups.
 *
 * Invariants
 * - (run, step) is written once; the first result is kept, with the record of what that result learnt.
 */
import type { Kysely, Selectable } from 'kysely'
import type { GroupId, RunId } from '../../identity/identity.ts'
import { insertOnce, jsonOf, type Precedence } from '../tables/codec.ts'
import type { Schema, UpdatesTable } from '../tables/schema.ts'
import { type LearntEpisode, learntText } from '../trajectories/learnt-episode.ts'

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
  /** @param learnt the episodes of its batch, in their order; none where it had nothing to learn from */
  put(update: StoredUpdate, learnt: readonly LearntEpisode[]): Promise<Precedence>
  get(run: RunId, step: number): Promise<StoredUpdate | undefined>
  latest(run: RunId): Promise<StoredUpdate | undefined>
  /** The record of an update; undefined where there is no such update, or where it left none. */
  learnt(run: RunId, step: number): Promise<readonly LearntEpisode[] | undefined>
  /** In the order of steps. */
  list(run: RunId): Promise<StoredUpdate[]>
}

export function createUpdates(db: Kysely<Schema>): Updates {
  return {
    put({ statistics, groups, ...update }, learnt) {
      const columns = { statistics: JSON.stringify(statistics), groups: JSON.stringify(groups) }
      const { run, step } = update
      return db.transaction().execute(async (transaction) => {
        const precedence = await insertOnce(
          transaction.insertInto('updates').values({ ...update, ...columns }),
        )
        if (precedence === 'first')
          await transaction
            .insertInto('learnt')
            .values({ run, step, episodes: learntText(learnt) })
            .execute()
        return precedence
      })
    },

    async learnt(run, step) {
      const row = await db
        .selectFrom('learnt')
        .select('episodes')
        .where('run', '=', run)
        .where('step', '=', step)
        .executeTakeFirst()
      return row && jsonOf(row.episodes, `the record of update ${step} of run ${run}`)
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
