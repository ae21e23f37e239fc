/**
 * Leases of a home directory: who owns what outlives a process, see `machine/processes/lease.ts`.
 *
 * Invariants
 * - A lease is taken once; taking it again changes nothing.
 * - Only a lease that has expired can be ended by others, and a renewal that comes later does not find it.
 * - The scope is drawn when the store is made and never changes: two homes never have the same.
 * - Only the newest are kept.
 */
import type { Kysely } from 'kysely'
import type { LeaseKind, LeaseStore } from '../../machine/processes/lease.ts'
import { insertOnce } from '../tables/codec.ts'
import type { Schema } from '../tables/schema.ts'

/**
 * Nonces: random texts that distinguish a store from a copy of it. Processes that share a name on a server add one every few
 * seconds, so a copy lacks those that were added after it was made.
 */
export interface Nonces {
  add(nonce: string, created: number): Promise<void>
  has(nonce: string): Promise<boolean>
}

/** @throws StorageFault the scope cannot be read */
export async function openLeases(db: Kysely<Schema>): Promise<LeaseStore> {
  const { scope } = await db.selectFrom('lease_scope').select('scope').executeTakeFirstOrThrow()
  return {
    scope,

    async take({ id, kind, owner, expires }) {
      await insertOnce(db.insertInto('leases').values({ id, kind, owner, expires }))
    },

    async renew(owner, expires) {
      const rows = await db
        .updateTable('leases')
        .set({ expires })
        .where('owner', '=', owner)
        .returning('id')
        .execute()
      return rows.map(({ id }) => id)
    },

    async release(id) {
      await db.deleteFrom('leases').where('id', '=', id).execute()
    },

    async expire(id, now) {
      const result = await db
        .deleteFrom('leases')
        .where('id', '=', id)
        .where('expires', '<=', now)
        .executeTakeFirst()
      return result.numDeletedRows > 0n
    },

    async list(kind) {
      const rows = await db.selectFrom('leases').selectAll().where('kind', '=', kind).orderBy('id').execute()
      return rows.map((row) => ({ ...row, kind: row.kind as LeaseKind }))
    },
  }
}

/** More than a whole fleet adds during one process's short absence. */
const kept = 1000

export function createNonces(db: Kysely<Schema>): Nonces {
  return {
    async add(nonce, created) {
      await db.insertInto('nonces').values({ nonce, created }).execute()
      const oldest = db.selectFrom('nonces').select('number').orderBy('number', 'desc').limit(1).offset(kept)
      await db.deleteFrom('nonces').where('number', '<=', oldest).execute()
    },
    async has(nonce) {
      const found = await db
        .selectFrom('nonces')
        .select('nonce')
        .where('nonce', '=', nonce)
        .executeTakeFirst()
      return found !== undefined
    },
  }
}
