/**
 * Experiments: what each states, as it was when it began.
 *
 * Invariants
 * - [EXPERIMENTS-1] A statement is written once, before any of its runs, and never changes.
 */
import type { Kysely, Selectable } from 'kysely'
import type { ExperimentName } from '../../identity/identity.ts'
import { insertOnce, jsonOf, type Precedence } from '../tables/codec.ts'
import type { ExperimentsTable, Schema } from '../tables/schema.ts'

export interface StoredExperiment {
  readonly name: ExperimentName
  /** As it was given. */
  readonly statement: unknown
  /** Milliseconds since the epoch. */
  readonly created: number
  /** When the last of its runs had ended. */
  readonly ended?: number
}

export interface Experiments {
  insert(experiment: {
    readonly name: ExperimentName
    readonly statement: unknown
    readonly created: number
  }): Promise<Precedence>
  /** An ending sets `ended`; undefined clears it, where it goes on. */
  setEnded(name: ExperimentName, ended: number | undefined): Promise<void>
  get(name: ExperimentName): Promise<StoredExperiment | undefined>
  /** The latest first. */
  list(): Promise<readonly StoredExperiment[]>
}

export function createExperiments(db: Kysely<Schema>): Experiments {
  return {
    insert: ({ name, statement, created }) =>
      insertOnce(
        db.insertInto('experiments').values({ id: name, statement: JSON.stringify(statement), created }),
      ),

    async setEnded(name, ended) {
      await db
        .updateTable('experiments')
        .set({ ended: ended ?? null })
        .where('id', '=', name)
        .execute()
    },

    async get(name) {
      const row = await db.selectFrom('experiments').selectAll().where('id', '=', name).executeTakeFirst()
      return row === undefined ? undefined : experimentOf(row)
    },

    async list() {
      const rows = await db
        .selectFrom('experiments')
        .selectAll()
        .orderBy('created', 'desc')
        .orderBy('id')
        .execute()
      return rows.map(experimentOf)
    },
  }
}

function experimentOf({ id, statement, created, ended }: Selectable<ExperimentsTable>): StoredExperiment {
  return {
    name: id as ExperimentName,
    statement: jsonOf(statement, `experiment ${id}: statement`),
    created,
    ...(ended === null ? {} : { ended }),
  }
}
