/**
 * Migrations of the store.
 *
 * Invariants
 * - A store reaches the current schema in one transaction, or stays as it was; two processes that open
 *   a new store at the same moment both find it whole.
 * - A store of a later release is refused before anything is read or written.
 * - A published migration never changes; a new schema is a new migration.
 */
import type { DatabaseSync } from 'node:sqlite'
import { type Kysely, sql } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import { StorageFault, storageFaultOf } from './fault.ts'
import type { Schema } from './schema.ts'

const initial: Migration = {
  async up(db) {
    await createRuns(db)
    await createGroups(db)
    await createEpisodes(db)
    await createTurns(db)
    await createUpdates(db)
    await createEvaluations(db)
  },
}

async function createRuns(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('runs')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('config', 'text', (c) => c.notNull())
    .addColumn('detail', 'text')
    .addColumn('version', 'integer')
    .addColumn('state', 'text')
    .addColumn('created', 'bigint', (c) => c.notNull())
    .addColumn('ended', 'bigint')
    .execute()
}

async function createGroups(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('groups')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('run', 'text', (c) => c.notNull())
    .addColumn('number', 'integer', (c) => c.notNull())
    .addColumn('task', 'text', (c) => c.notNull())
    .addColumn('instance', 'text', (c) => c.notNull())
    .addColumn('version', 'integer', (c) => c.notNull())
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('episodes', 'text')
    .addColumn('rewards', 'text')
    .addColumn('oldest_version', 'integer')
    .addColumn('consumed_by', 'integer')
    .addColumn('created', 'bigint', (c) => c.notNull())
    .addColumn('ended', 'bigint')
    .execute()
  await db.schema.createIndex('groups_of_run').on('groups').columns(['run', 'number']).unique().execute()
}

async function createEpisodes(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('episodes')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('run', 'text', (c) => c.notNull())
    .addColumn('parent', 'text', (c) => c.notNull())
    .addColumn('sample', 'integer', (c) => c.notNull())
    .addColumn('attempt', 'integer', (c) => c.notNull())
    .addColumn('task', 'text', (c) => c.notNull())
    .addColumn('instance', 'text', (c) => c.notNull())
    .addColumn('outcome', 'text')
    .addColumn('reward', 'double precision')
    .addColumn('turns', 'integer')
    .addColumn('observations', 'integer')
    .addColumn('tokens', 'integer')
    .addColumn('action_tokens', 'integer')
    .addColumn('problems', 'integer')
    .addColumn('version_min', 'integer')
    .addColumn('version_max', 'integer')
    .addColumn('checksum', 'text')
    .addColumn('created', 'bigint', (c) => c.notNull())
    .addColumn('ended', 'bigint')
    .execute()
  await db.schema
    .createIndex('episodes_of_parent')
    .on('episodes')
    .columns(['parent', 'sample', 'attempt'])
    .unique()
    .execute()
  await db.schema.createIndex('episodes_of_run').on('episodes').columns(['run', 'id']).execute()
}

async function createTurns(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('observations')
    .addColumn('episode', 'text', (c) => c.notNull())
    .addColumn('turn', 'integer', (c) => c.notNull())
    .addColumn('messages', 'text', (c) => c.notNull())
    .addColumn('reward', 'double precision', (c) => c.notNull())
    .addColumn('done', 'integer', (c) => c.notNull())
    .addColumn('outcome', 'text')
    .addColumn('info', 'text', (c) => c.notNull())
    .addColumn('tools', 'text')
    .addPrimaryKeyConstraint('observations_key', ['episode', 'turn'])
    .execute()
  await db.schema
    .createTable('actions')
    .addColumn('episode', 'text', (c) => c.notNull())
    .addColumn('turn', 'integer', (c) => c.notNull())
    .addColumn('prompt', 'blob', (c) => c.notNull())
    .addColumn('tokens', 'blob', (c) => c.notNull())
    .addColumn('logprobs', 'blob', (c) => c.notNull())
    .addColumn('version', 'integer', (c) => c.notNull())
    .addColumn('finish', 'text', (c) => c.notNull())
    .addColumn('message', 'text', (c) => c.notNull())
    .addColumn('problems', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('actions_key', ['episode', 'turn'])
    .execute()
}

async function createUpdates(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('updates')
    .addColumn('run', 'text', (c) => c.notNull())
    .addColumn('step', 'integer', (c) => c.notNull())
    .addColumn('version', 'integer', (c) => c.notNull())
    .addColumn('statistics', 'text', (c) => c.notNull())
    .addColumn('groups', 'text', (c) => c.notNull())
    .addColumn('created', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('updates_key', ['run', 'step'])
    .execute()
}

async function createEvaluations(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('evaluations')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('run', 'text', (c) => c.notNull())
    .addColumn('suite', 'text', (c) => c.notNull())
    .addColumn('version', 'integer', (c) => c.notNull())
    .addColumn('seed', 'integer', (c) => c.notNull())
    .addColumn('success', 'double precision')
    .addColumn('n', 'integer')
    .addColumn('episodes', 'text')
    .addColumn('statistics', 'text')
    .addColumn('created', 'bigint', (c) => c.notNull())
    .addColumn('ended', 'bigint')
    .execute()
  await db.schema.createIndex('evaluations_of_run').on('evaluations').columns(['run', 'created']).execute()
}

const leases: Migration = {
  async up(db) {
    await db.schema
      .createTable('leases')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('kind', 'text', (c) => c.notNull())
      .addColumn('owner', 'text', (c) => c.notNull())
      .addColumn('expires', 'bigint', (c) => c.notNull())
      .execute()
    await db.schema.createIndex('leases_of_owner').on('leases').column('owner').execute()
    await db.schema
      .createTable('lease_scope')
      .addColumn('scope', 'text', (c) => c.notNull())
      .execute()
    await sql`insert into lease_scope values ('h' || lower(hex(randomblob(6))))`.execute(db)
  },
}

const audit: Migration = {
  async up(db) {
    await db.schema
      .createTable('audit')
      .addColumn('run', 'text', (c) => c.notNull())
      .addColumn('number', 'integer', (c) => c.notNull())
      .addColumn('time', 'bigint', (c) => c.notNull())
      .addColumn('ordered_by', 'text', (c) => c.notNull())
      .addColumn('what', 'text', (c) => c.notNull())
      .addColumn('from_value', 'text', (c) => c.notNull())
      .addColumn('to_value', 'text', (c) => c.notNull())
      .addColumn('version', 'integer', (c) => c.notNull())
      .addColumn('effect_version', 'integer')
      .addColumn('reason', 'text')
      .addPrimaryKeyConstraint('audit_key', ['run', 'number'])
      .execute()
  },
}

const retention: Migration = {
  async up(db) {
    await db.schema.alterTable('episodes').addColumn('bytes', 'bigint').execute()
    await db.schema.alterTable('episodes').addColumn('released', 'bigint').execute()
  },
}

const metrics: Migration = {
  async up(db) {
    await db.schema
      .createTable('metrics')
      .addColumn('run', 'text', (c) => c.notNull())
      .addColumn('key', 'text', (c) => c.notNull())
      .addColumn('version', 'integer', (c) => c.notNull())
      .addColumn('rank', 'integer', (c) => c.notNull())
      .addColumn('number', 'integer', (c) => c.notNull())
      .addColumn('line', 'text', (c) => c.notNull())
      .addPrimaryKeyConstraint('metrics_key', ['run', 'key'])
      .execute()
    await db.schema
      .createIndex('metrics_of_run')
      .on('metrics')
      .columns(['run', 'version', 'rank', 'number', 'key'])
      .execute()
  },
}

const failedEvaluations: Migration = {
  async up(db) {
    await db.schema.alterTable('evaluations').addColumn('failure', 'text').execute()
  },
}

const migrations: Readonly<Record<string, Migration>> = {
  '0001_initial': initial,
  '0002_leases': leases,
  '0003_audit': audit,
  '0004_retention': retention,
  '0005_metrics': metrics,
  '0006_failed_evaluations': failedEvaluations,
}

/** Brings a store to the current schema. @throws StorageFault `newer_schema`, or whatever kept it from migrating */
export async function migrate(db: Kysely<Schema>, database: DatabaseSync, file: string): Promise<void> {
  try {
    if (isCurrent(database, file)) return
    // SQLite can undo schema changes; Kysely does not use that, so the transaction is opened beneath it.
    database.exec('begin immediate')
    try {
      const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } })
      const { error } = await migrator.migrateToLatest()
      if (error !== undefined) throw error
      database.exec('commit')
    } catch (error) {
      if (database.isTransaction) database.exec('rollback')
      throw error
    }
  } catch (error) {
    throw storageFaultOf(error, `store ${file}`)
  }
}

/** Whether a store needs no migration. @throws StorageFault `newer_schema` */
export function isCurrent(database: DatabaseSync, file: string): boolean {
  const table = database.prepare(
    "select 1 from sqlite_master where type = 'table' and name = 'kysely_migration'",
  )
  if (table.get() === undefined) return false
  const applied = database
    .prepare('select name from kysely_migration')
    .all()
    .map((row) => String(row.name))
  const unknown = applied.filter((name) => !(name in migrations))
  if (unknown.length > 0)
    throw new StorageFault(
      'newer_schema',
      `store ${file} was written by a later release (migration ${unknown.join(', ')}); update Perdure, or choose another --home`,
    )
  return applied.length === Object.keys(migrations).length
}
