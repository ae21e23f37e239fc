/**
 * Audit trail: who ordered what of a run, and from which version on it held.
 *
 * Invariants
 * - [AUDIT-1] An order is in the trail once, under its run and number. Written again it gains its effect; another order under its
 *   number is refused.
 * - Nothing is ever taken out.
 */
import { type Kysely, type Selectable, sql } from 'kysely'
import type { RunId } from '../../identity/identity.ts'
import { StorageFault } from '../disk/fault.ts'
import { jsonOf } from '../tables/codec.ts'
import type { AuditTable, Schema } from '../tables/schema.ts'

/** Value of a setting or a phase, before or after an order. */
export type AuditValue = string | number | boolean | null

/** One order. */
export interface AuditEntry {
  /** Position among the orders of the run, from 0. */
  readonly number: number
  /** Milliseconds since the epoch. */
  readonly time: number
  /** A person, a gate or a program. */
  readonly by: string
  /** `pause`, `continue`, `stop`, `evaluate`, `checkpoint`, `rollback`, `promote`, `restart`, or the key of a setting. */
  readonly what: string
  readonly from: AuditValue
  readonly to: AuditValue
  /** Policy version that was current when the order was taken. */
  readonly version: number
  /** Policy version from which on it held; null while it waits for an update in progress, or where it had none. */
  readonly effectVersion: number | null
  /** Why, in words. */
  readonly reason: string | null
}

export interface Audit {
  /** Records orders, or the effect of orders that are there already; all or none. @throws StorageFault `conflict` */
  put(run: RunId, entries: readonly AuditEntry[]): Promise<void>
  /** Enters an order that the run's workflow does not number. */
  append(run: RunId, entry: Omit<AuditEntry, 'number'>): Promise<void>
  /** In the order in which they were given. */
  list(run: RunId): Promise<AuditEntry[]>
  /** Those with this number or a later one that the run's workflow has numbered, in the same order. */
  listFrom(run: RunId, number: number): Promise<AuditEntry[]>
}

/** Orders that did not pass through the run's workflow are numbered from here. */
const outsideNumbers = 1_000_000_000

export function createAudit(db: Kysely<Schema>): Audit {
  async function put(run: RunId, entries: readonly AuditEntry[]): Promise<void> {
    if (entries.length === 0) return
    await db.transaction().execute(async (transaction) => {
      const written = await transaction
        .insertInto('audit')
        .values(entries.map((entry) => rowOf(run, entry)))
        .onConflict((conflict) =>
          conflict
            .columns(['run', 'number'])
            .doUpdateSet((row) => ({
              // A first writing that arrives late must not take the effect away.
              effect_version: row.fn.coalesce('excluded.effect_version', 'audit.effect_version'),
              reason: row.fn.coalesce('excluded.reason', 'audit.reason'),
            }))
            .whereRef('audit.time', '=', 'excluded.time')
            .whereRef('audit.what', '=', 'excluded.what'),
        )
        .returning('number')
        .execute()
      const numbers = new Set(written.map(({ number }) => number))
      const other = entries.find(({ number }) => !numbers.has(number))
      if (other !== undefined)
        throw new StorageFault(
          'conflict',
          `order ${other.number} of ${run} is in the store with another meaning than "${other.what}": the run continues from what the store has`,
        )
    })
  }

  const ofRun = (run: RunId) =>
    db.selectFrom('audit').selectAll().where('run', '=', run).orderBy('time').orderBy('number')

  return {
    put,

    async append(run, entry) {
      // A transaction has the store for itself: two that append at once must not take the same number.
      const least = sql.lit(outsideNumbers)
      const number = sql<number>`(select case when max(number) >= ${least} then max(number) + 1 else ${least} end from audit where run = ${run})`
      await db.transaction().execute(async (alone) => {
        await alone
          .insertInto('audit')
          .values({ ...rowOf(run, { ...entry, number: outsideNumbers }), number })
          .execute()
      })
    },

    async list(run) {
      const rows = await ofRun(run).execute()
      return rows.map(entryOf)
    },

    async listFrom(run, number) {
      const rows = await ofRun(run)
        .where('number', '>=', number)
        .where('number', '<', outsideNumbers)
        .execute()
      return rows.map(entryOf)
    },
  }
}

function rowOf(run: RunId, entry: AuditEntry): AuditTable {
  return {
    run,
    number: entry.number,
    time: entry.time,
    ordered_by: entry.by,
    what: entry.what,
    from_value: JSON.stringify(entry.from),
    to_value: JSON.stringify(entry.to),
    version: entry.version,
    effect_version: entry.effectVersion,
    reason: entry.reason,
  }
}

function entryOf(row: Selectable<AuditTable>): AuditEntry {
  const subject = `order ${row.number} of run ${row.run}`
  return {
    number: row.number,
    time: row.time,
    by: row.ordered_by,
    what: row.what,
    from: jsonOf(row.from_value, `${subject}: from`),
    to: jsonOf(row.to_value, `${subject}: to`),
    version: row.version,
    effectVersion: row.effect_version,
    reason: row.reason,
  }
}
