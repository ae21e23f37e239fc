/**
 * Nonces: random texts that distinguish a store from a copy of it. Processes that share a name on a server add one every few
 * seconds, so a copy lacks those that were added after it was made.
 *
 * Invariants
 * - Only the newest are kept.
 */
import type { Kysely } from 'kysely'
import type { Schema } from '../sqlite/schema.ts'

/** More than a whole fleet adds during one process's short absence. */
const kept = 1000

export interface Nonces {
  add(nonce: string, created: number): Promise<void>
  has(nonce: string): Promise<boolean>
}

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
