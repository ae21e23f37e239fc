/** A store as an earlier release left it: its last migrations undone. */
import { DatabaseSync } from 'node:sqlite'

/** Statements that undo each migration, the latest first. */
const undoings: Readonly<Record<string, readonly string[]>> = {
  '0016_learnt': ['drop table learnt'],
  '0015_no_tree_groups': ['alter table groups add column tree text'],
  '0014_nonces': ['drop table nonces'],
  '0013_failing_work': ['drop table failing_work'],
  '0012_planned_episodes': [
    'alter table evaluations drop column planned',
    'alter table evaluations drop column lost',
  ],
  '0011_tree_groups': ['alter table groups drop column tree'],
  '0010_version_spans': ['alter table actions drop column spans'],
}

/**
 * Undoes the migrations from this one on; by default the last one.
 * @param file of a store that is closed
 * @throws RangeError a migration that nothing here undoes
 */
export function undoMigrations(file: string, from = Object.keys(undoings)[0] ?? ''): void {
  const database = new DatabaseSync(file)
  const later = database
    .prepare('select name from kysely_migration where name >= ? order by name desc')
    .all(from)
    .map(({ name }) => String(name))
  for (const name of later) {
    const statements = undoings[name]
    if (statements === undefined)
      throw new RangeError(`say in storage/sqlite/older-store.testing.ts what undoes migration ${name}`)
    for (const statement of statements) database.exec(statement)
  }
  database.prepare('delete from kysely_migration where name >= ?').run(from)
  database.close()
}
