/**
 * Holdings: what the trajectories of a run weigh, and giving them up.
 *
 * Invariants
 * - The trajectories of a group or evaluation are given up together, or none of them: a crash in between leaves
 *   none half deleted.
 * - An episode keeps its outcome, reward, figures and checksum when its trajectory is deleted.
 * - Giving up twice changes nothing; an episode that is not sealed keeps what it has.
 */
import { type Kysely, sql } from 'kysely'
import { isBranchId, type RunId } from '../../identity/identity.ts'
import type { Connection } from '../tables/backend.ts'
import type { Schema } from '../tables/schema.ts'
import type { TrajectoryHolding } from './retention.ts'

export interface Holdings {
  /** Trajectories of a run, by group and evaluation. */
  trajectories(run: RunId): Promise<TrajectoryHolding[]>
  /** Deletes the turns of the sealed episodes of a group or evaluation. @returns how many episodes */
  release(parent: string, now: number): Promise<number>
  /** Gives free space back to the disk, so far as that needs no copy of the whole store. @returns bytes */
  shrink(): Promise<number>
}

interface HoldingRow {
  readonly parent: string
  readonly episodes: number
  readonly bytes: number
  readonly status: string | null
  readonly consumed_by: number | null
  readonly group_ended: number | null
  readonly evaluation: string | null
  readonly evaluation_ended: number | null
  readonly last_ended: number | null
}

export function createHoldings(db: Kysely<Schema>, shrink: Connection['shrink']): Holdings {
  return {
    async trajectories(run) {
      const { rows } = await sql<HoldingRow>`
        select e.parent, count(*) as episodes,
          sum(coalesce(e.bytes, 0)) as bytes,
          g.status, g.consumed_by, g.ended as group_ended, v.id as evaluation, v.ended as evaluation_ended,
          max(e.ended) as last_ended
        from episodes e
        left join groups g on g.id = e.parent
        left join evaluations v on v.id = e.parent
        where e.run = ${run} and e.checksum is not null and e.released is null
        group by e.parent, g.status, g.consumed_by, g.ended, v.id, v.ended`.execute(db)
      return rows.map(holdingOf)
    },

    async release(parent, now) {
      return db.transaction().execute(async (transaction) => {
        const sealed = transaction
          .selectFrom('episodes')
          .select('id')
          .where('parent', '=', parent)
          .where('checksum', 'is not', null)
          .where('released', 'is', null)
        for (const table of ['observations', 'actions', 'answers', 'answer_faults'] as const)
          await transaction.deleteFrom(table).where('episode', 'in', sealed).execute()
        const { numUpdatedRows } = await transaction
          .updateTable('episodes')
          .set({ released: now })
          .where('parent', '=', parent)
          .where('checksum', 'is not', null)
          .where('released', 'is', null)
          .executeTakeFirst()
        return Number(numUpdatedRows)
      })
    },

    shrink,
  }
}

function holdingOf(row: HoldingRow): TrajectoryHolding {
  const { parent, episodes, bytes } = row
  // Nothing waits for a branch: it counts as ended with its last episode.
  if (isBranchId(parent)) return { parent, episodes, bytes, ended: row.last_ended, use: 'branched' }
  return { parent, episodes, bytes, ended: row.group_ended ?? row.evaluation_ended, use: useOf(row) }
}

function useOf({ status, consumed_by, evaluation, evaluation_ended }: HoldingRow): TrajectoryHolding['use'] {
  if (evaluation !== null) return evaluation_ended === null ? 'playing' : 'evaluated'
  if (consumed_by !== null) return { consumedBy: consumed_by }
  if (status === 'abandoned') return 'abandoned'
  return status === 'complete' ? 'waiting' : 'playing'
}
