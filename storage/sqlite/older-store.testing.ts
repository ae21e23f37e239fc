/** A store as an earlier build left it: its last migrations undone. */
import { DatabaseSync } from 'node:sqlite'

/** Statements that undo each migration, the latest first. */
const undoings: Readonly<Record<string, readonly string[]>> = {
  '0021_agent_turns': ['branch', 'follows', 'form', 'request', 'answer'].map(
    (column) => `alter table actions drop column ${column}`,
  ),
  '0020_published_versions': ['drop table published_versions'],
  '0019_answers': ['drop table answers', 'drop table answer_faults'],
  '0018_metrics': ['alter table episodes drop column metrics'],
  '0017_success': ['alter table episodes drop column success'],
  '0016_learnt': ['drop table learnt'],
  '0015_no_tree_groups': ['alter table groups add column tree text'],
}

/** Undoes the last migrations. @param file of a store that is closed */
export function undoMigrations(file: string): void {
  const database = new DatabaseSync(file)
  for (const [name, statements] of Object.entries(undoings)) {
    for (const statement of statements) database.exec(statement)
    database.prepare('delete from kysely_migration where name = ?').run(name)
  }
  database.close()
}
