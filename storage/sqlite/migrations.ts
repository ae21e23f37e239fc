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
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import { StorageFault, storageFaultOf } from '../disk/fault.ts'
import type { Schema } from '../tables/schema.ts'

/** Each statement of a migration, in order. */
const migrations: Readonly<Record<string, Migration>> = {
  '0001_initial': executing(
    sql`create table runs (
      id text primary key,
      status text not null, config text not null, detail text,
      version integer, state text,
      created bigint not null, ended bigint
    )`,
    sql`create table groups (
      id text primary key,
      run text not null, number integer not null,
      task text not null, instance text not null, version integer not null,
      status text not null, episodes text, rewards text, oldest_version integer,
      consumed_by integer,
      created bigint not null, ended bigint
    )`,
    sql`create unique index groups_of_run on groups (run, number)`,
    sql`create table episodes (
      id text primary key,
      run text not null, parent text not null, sample integer not null, attempt integer not null,
      task text not null, instance text not null,
      outcome text, reward double precision,
      turns integer, observations integer, tokens integer, action_tokens integer, problems integer,
      version_min integer, version_max integer, checksum text,
      created bigint not null, ended bigint
    )`,
    sql`create unique index episodes_of_parent on episodes (parent, sample, attempt)`,
    sql`create index episodes_of_run on episodes (run, id)`,
    sql`create table observations (
      episode text not null, turn integer not null,
      messages text not null, reward double precision not null,
      done integer not null, outcome text, info text not null, tools text,
      constraint observations_key primary key (episode, turn)
    )`,
    sql`create table actions (
      episode text not null, turn integer not null,
      prompt blob not null, tokens blob not null, logprobs blob not null,
      version integer not null, finish text not null,
      message text not null, problems text not null,
      constraint actions_key primary key (episode, turn)
    )`,
    sql`create table updates (
      run text not null, step integer not null,
      version integer not null, statistics text not null, groups text not null,
      created bigint not null,
      constraint updates_key primary key (run, step)
    )`,
    sql`create table evaluations (
      id text primary key,
      run text not null, suite text not null, version integer not null, seed integer not null,
      success double precision, n integer, episodes text, statistics text,
      created bigint not null, ended bigint
    )`,
    sql`create index evaluations_of_run on evaluations (run, created)`,
  ),
  '0002_leases': executing(
    sql`create table leases (id text primary key, kind text not null, owner text not null, expires bigint not null)`,
    sql`create index leases_of_owner on leases (owner)`,
    sql`create table lease_scope (scope text not null)`,
    sql`insert into lease_scope values ('h' || lower(hex(randomblob(6))))`,
  ),
  '0003_audit': executing(
    sql`create table audit (
      run text not null, number integer not null,
      time bigint not null, ordered_by text not null,
      what text not null, from_value text not null, to_value text not null,
      version integer not null, effect_version integer, reason text,
      constraint audit_key primary key (run, number)
    )`,
  ),
  '0004_retention': executing(
    sql`alter table episodes add column bytes bigint`,
    sql`alter table episodes add column released bigint`,
  ),
  '0005_metrics': executing(
    sql`create table metrics (
      run text not null, key text not null,
      version integer not null, rank integer not null, number integer not null,
      line text not null,
      constraint metrics_key primary key (run, key)
    )`,
    sql`create index metrics_of_run on metrics (run, version, rank, number, key)`,
  ),
  '0006_failed_evaluations': executing(sql`alter table evaluations add column failure text`),
  '0007_experiments': executing(
    sql`create table experiments (id text primary key, statement text not null, created bigint not null, ended bigint)`,
    sql`create table run_costs (run text primary key, cpu_seconds double precision not null)`,
  ),
  '0008_experts': executing(sql`create table experts (
      run text not null, suite text not null,
      success double precision not null, n integer not null,
      constraint experts_key primary key (run, suite)
    )`),
  '0009_turn_times': executing(
    ...['actions', 'observations'].flatMap((table) => [
      sql`alter table ${sql.table(table)} add column seconds double precision`,
      sql`alter table ${sql.table(table)} add column attempt integer`,
    ]),
  ),
  '0010_version_spans': executing(sql`alter table actions add column spans text`),
  '0011_tree_groups': executing(sql`alter table groups add column tree text`),
  '0012_planned_episodes': executing(
    sql`alter table evaluations add column planned integer`,
    sql`alter table evaluations add column lost text`,
    // Ids of episodes end with their sample and attempt: without the attempt's number, each sample is there once.
    sql`update evaluations set planned = (select count(distinct rtrim(value, '0123456789')) from json_each(episodes))
      where n is not null and json_valid(episodes)`,
    sql`update evaluations set lost = json_object('infrastructure_error', planned - n) where planned > n`,
  ),
  '0013_failing_work': executing(sql`create table failing_work (
      run text not null, work text not null,
      reason text not null, attempt integer not null, time bigint not null,
      constraint failing_work_key primary key (run, work)
    )`),
  '0014_nonces': executing(
    sql`create table nonces (number integer primary key autoincrement, nonce text not null, created bigint not null)`,
    sql`create unique index nonces_by_text on nonces (nonce)`,
  ),
  '0015_no_tree_groups': executing(sql`alter table groups drop column tree`),
  '0016_learnt': executing(sql`create table learnt (
      run text not null, step integer not null, episodes text not null,
      constraint learnt_key primary key (run, step)
    )`),
  '0017_success': executing(
    sql`alter table episodes add column success integer`,
    sql`update episodes set success = coalesce(outcome = 'completed' and reward >= 1, 0) where checksum is not null`,
  ),
  '0018_metrics': executing(sql`alter table episodes add column metrics text`),
  '0019_answers': executing(
    sql`create table answers (
      episode text not null, turn integer not null, role text not null, number integer not null,
      hash text not null, messages text not null, source text not null, model text not null, text text not null,
      prompt_tokens integer, completion_tokens integer, cost double precision not null,
      seconds double precision not null, created bigint not null,
      constraint answers_key primary key (episode, turn, role, number)
    )`,
    sql`create table answer_faults (
      episode text not null, turn integer not null, role text not null, number integer not null, try integer not null,
      kind text not null, reason text not null,
      prompt_tokens integer, completion_tokens integer, cost double precision not null,
      seconds double precision not null, created bigint not null,
      constraint answer_faults_key primary key (episode, turn, role, number, try)
    )`,
  ),
  '0020_published_versions': executing(sql`create table published_versions (
      run text not null, version integer not null, at bigint not null, cpu_seconds double precision not null,
      constraint published_versions_key primary key (run, version)
    )`),
  '0021_agent_turns': executing(
    ...['branch integer', 'follows integer', 'form text', 'request text', 'answer text'].map(
      (column) => sql`alter table actions add column ${sql.raw(column)}`,
    ),
  ),
}

export const migrationNames: readonly string[] = Object.keys(migrations)

function executing(...statements: readonly RawBuilder<unknown>[]): Migration {
  return {
    async up(db) {
      for (const statement of statements) await statement.execute(db)
    },
  }
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
