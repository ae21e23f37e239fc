/**
 * Runs: name, configuration and status of every training run of a home directory.
 *
 * Invariants
 * - A second insert of the same name changes nothing; a configuration changes only where a person orders it.
 * - The published version and the state that belongs to it are written together.
 * - Published versions only grow: one that comes late, from a worker that was stopped, changes nothing.
 */
import type { Kysely, Selectable } from 'kysely'
import type { RunId } from '../../identity/identity.ts'
import type { RunStatus } from '../../learning/run/run-phase.ts'
import type { Statements } from '../tables/backend.ts'
import { insertOnce, jsonOf, type Precedence } from '../tables/codec.ts'
import type { RunsTable, Schema } from '../tables/schema.ts'

export interface StoredRun {
  readonly id: RunId
  readonly status: RunStatus
  /** The resolved configuration, as it was given. */
  readonly config: unknown
  /** Why it failed or stopped, in words. */
  readonly detail?: string
  /** The policy version that turns are sampled from; absent before the first is published. */
  readonly version?: number
  /** Milliseconds since the epoch. */
  readonly created: number
  readonly ended?: number
}

export interface Runs {
  insert(run: { id: RunId; config: unknown; created: number }): Promise<Precedence>
  /** Another configuration, for a run that is stopped. */
  configure(id: RunId, config: unknown): Promise<void>
  /** The configuration as it is stored: asked for at every turn, to see whether it is another. */
  configText(id: RunId): Promise<string | undefined>
  /** An ending sets `ended`; going back to `running` clears ending and detail. */
  setStatus(id: RunId, status: RunStatus, options?: { detail?: string; ended?: number }): Promise<void>
  /** Makes a version the published one, with the state from which the run can continue; null: none is yet. */
  publish(id: RunId, published: { version: number | null; state: unknown }): Promise<void>
  /** The published version alone: asked for at every turn. */
  version(id: RunId): Promise<number | undefined>
  /** The state of the last publication. */
  state(id: RunId): Promise<unknown>
  get(id: RunId): Promise<StoredRun | undefined>
  /** The latest first. */
  list(): Promise<StoredRun[]>
}

export function createRuns(db: Kysely<Schema>, statements: Statements): Runs {
  const configOf = db.selectFrom('runs').select('config').where('id', '=', '').compile()
  const versionOf = db.selectFrom('runs').select('version').where('id', '=', '').compile()

  return {
    insert: ({ id, config, created }) =>
      insertOnce(
        db.insertInto('runs').values({ id, config: JSON.stringify(config), status: 'running', created }),
      ),

    async configure(id, config) {
      await db
        .updateTable('runs')
        .set({ config: JSON.stringify(config) })
        .where('id', '=', id)
        .execute()
    },

    async configText(id) {
      const row = await statements.first(configOf, [id])
      return row?.config
    },

    async setStatus(id, status, options = {}) {
      await db
        .updateTable('runs')
        .set({ status, detail: options.detail ?? null, ended: options.ended ?? null })
        .where('id', '=', id)
        .execute()
    },

    async publish(id, { version, state }) {
      await db
        .updateTable('runs')
        .set({ version, state: JSON.stringify(state) })
        .where('id', '=', id)
        .where(({ eb, or }) => or([eb('version', 'is', null), eb('version', '<=', version)]))
        .execute()
    },

    async version(id) {
      const row = await statements.first(versionOf, [id])
      return row?.version ?? undefined
    },

    async state(id) {
      const row = await db.selectFrom('runs').select('state').where('id', '=', id).executeTakeFirst()
      return row?.state == null ? undefined : jsonOf(row.state, `run ${id}: state`)
    },

    get: (id) => storedRun(db, id),

    async list() {
      const rows = await db.selectFrom('runs').selectAll().orderBy('created', 'desc').orderBy('id').execute()
      return rows.map(runOf)
    },
  }
}

export async function storedRun(db: Kysely<Schema>, id: RunId): Promise<StoredRun | undefined> {
  const row = await db.selectFrom('runs').selectAll().where('id', '=', id).executeTakeFirst()
  return row === undefined ? undefined : runOf(row)
}

function runOf(row: Selectable<RunsTable>): StoredRun {
  return {
    id: row.id as RunId,
    status: row.status as RunStatus,
    config: jsonOf(row.config, `run ${row.id}: configuration`),
    ...(row.detail === null ? {} : { detail: row.detail }),
    ...(row.version === null ? {} : { version: row.version }),
    created: row.created,
    ...(row.ended === null ? {} : { ended: row.ended }),
  }
}
