/**
 * Rollout groups: the episodes of one instance, from admission to the update that consumes them.
 *
 * Invariants
 * - A group is completed once; a second completion changes nothing.
 * - A group is consumed by one update at most, and by the same one however often it is asked for.
 */
import type { Kysely, Selectable } from 'kysely'
import type { EpisodeId, GroupId, RunId } from '../../identity/identity.ts'
import { StorageFault } from '../disk/fault.ts'
import { insertOnce, jsonOf, type Precedence, precedenceOf } from '../tables/codec.ts'
import type { GroupsTable, Schema } from '../tables/schema.ts'

/** `abandoned`: ended without enough results to learn from. */
export type GroupStatus = 'running' | 'complete' | 'abandoned'

export interface NewGroup {
  readonly id: GroupId
  readonly run: RunId
  readonly number: number
  readonly task: string
  readonly instance: string
  /** Policy version when the group was admitted. */
  readonly version: number
  readonly created: number
}

export interface GroupResult {
  readonly status: 'complete' | 'abandoned'
  /** [group] the sealed episodes that count. */
  readonly episodes: readonly EpisodeId[]
  /** [group] their final rewards, same order. */
  readonly rewards: readonly number[]
  /** Oldest current version when any of its episodes started. */
  readonly oldestVersion: number
  readonly ended: number
}

export interface StoredGroup extends NewGroup {
  readonly status: GroupStatus
  readonly result?: GroupResult
  /** Step of the update that consumed it. */
  readonly consumedBy?: number
}

export interface GroupFilter {
  readonly status?: GroupStatus
  readonly consumed?: boolean
  /** Step of the update that consumed them. */
  readonly consumedBy?: number
}

export interface Groups {
  insert(group: NewGroup): Promise<Precedence>
  complete(id: GroupId, result: GroupResult): Promise<Precedence>
  /**
   * Marks groups as consumed by an update; all of them or none.
   * @throws StorageFault `missing` a group is not complete, `conflict` another step consumed it
   */
  consume(ids: readonly GroupId[], step: number): Promise<void>
  get(id: GroupId): Promise<StoredGroup | undefined>
  /** In the order of their numbers. */
  list(run: RunId, filter?: GroupFilter): Promise<StoredGroup[]>
}

export function createGroups(db: Kysely<Schema>): Groups {
  return {
    insert: (group) => insertOnce(db.insertInto('groups').values({ ...group, status: 'running' })),

    async complete(id, { status, episodes, rewards, oldestVersion, ended }) {
      const result = await db
        .updateTable('groups')
        .set({
          status,
          episodes: JSON.stringify(episodes),
          rewards: JSON.stringify(rewards),
          oldest_version: oldestVersion,
          ended,
        })
        .where('id', '=', id)
        .where('status', '=', 'running')
        .executeTakeFirst()
      return precedenceOf(result.numUpdatedRows)
    },

    async consume(ids, step) {
      await db.transaction().execute(async (transaction) => {
        for (const id of ids) {
          const { numUpdatedRows } = await transaction
            .updateTable('groups')
            .set({ consumed_by: step })
            .where('id', '=', id)
            .where('status', '=', 'complete')
            .where((or) => or.or([or('consumed_by', 'is', null), or('consumed_by', '=', step)]))
            .executeTakeFirst()
          if (numUpdatedRows > 0n) continue
          const row = await transaction
            .selectFrom('groups')
            .select(['status', 'consumed_by'])
            .where('id', '=', id)
            .executeTakeFirst()
          throw row?.consumed_by == null
            ? new StorageFault('missing', `group ${id} is ${row?.status ?? 'unknown'}, expected complete`)
            : new StorageFault(
                'conflict',
                `group ${id} was consumed by update ${row.consumed_by}, not ${step}`,
              )
        }
      })
    },

    async get(id) {
      const row = await db.selectFrom('groups').selectAll().where('id', '=', id).executeTakeFirst()
      return row === undefined ? undefined : groupOf(row)
    },

    async list(run, filter = {}) {
      let query = db.selectFrom('groups').selectAll().where('run', '=', run).orderBy('number')
      if (filter.status !== undefined) query = query.where('status', '=', filter.status)
      if (filter.consumed !== undefined)
        query = query.where('consumed_by', filter.consumed ? 'is not' : 'is', null)
      if (filter.consumedBy !== undefined) query = query.where('consumed_by', '=', filter.consumedBy)
      return (await query.execute()).map(groupOf)
    },
  }
}

function groupOf(row: Selectable<GroupsTable>): StoredGroup {
  const { id, number, task, instance, version, created } = row
  const status = row.status as GroupStatus
  const subject = `group ${id}`
  return {
    id: id as GroupId,
    run: row.run as RunId,
    number,
    task,
    instance,
    version,
    created,
    status,
    ...(status === 'running'
      ? {}
      : {
          result: {
            status,
            episodes: jsonOf<EpisodeId[]>(row.episodes ?? '', `${subject}: episodes`),
            rewards: jsonOf<number[]>(row.rewards ?? '', `${subject}: rewards`),
            oldestVersion: row.oldest_version ?? version,
            ended: row.ended ?? created,
          },
        }),
    ...(row.consumed_by === null ? {} : { consumedBy: row.consumed_by }),
  }
}
