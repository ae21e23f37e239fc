/**
 * The indexes of the server's list of executions, which costs a quarter of what the server computes.
 *
 * The server gives its list an index for each search attribute that anyone could define, and writes an entry into each of some
 * sixty whenever an execution starts or ends; most of them hold nothing but empty fields. Here they become partial: an
 * entry is where there is a value.
 *
 * Invariants
 * - [INDEXES-1] Every query has the answer that it had, and a condition on a value the index: an empty field meets none.
 * - [INDEXES-2] Done twice it changes nothing; it is done as a whole or not at all.
 * - Unknown tables, such as those of a later server, stay as they are.
 */
import { DatabaseSync } from 'node:sqlite'

const list = 'executions_visibility'
/** How long the server's own writing is waited for; it waits for ours that long too. */
export const busyMs = 10_000

/**
 * Makes the indexes of fields that may be empty partial.
 * @param waitMs how long others may keep the file locked
 * @returns how many
 */
export function thinIndexes(file: string, waitMs: number = busyMs): number {
  using database = new DatabaseSync(file, { timeout: waitMs })
  const thinned = partialIndexes(database)
  if (thinned.length === 0) return 0
  const changes = thinned.flatMap(({ name, sql }) => [`drop index ${name}`, sql])
  database.exec(['begin immediate', ...changes, 'commit'].join(';\n'))
  return thinned.length
}

/** The indexes that are not partial yet, as they are to be. */
function partialIndexes(database: DatabaseSync): readonly { readonly name: string; readonly sql: string }[] {
  const fields = database.prepare('select name, "notnull" as filled from pragma_table_xinfo(?)').all(list)
  const mayBeEmpty = new Set(fields.filter(({ filled }) => filled === 0).map(({ name }) => name))
  const indexes = database
    .prepare("select name, sql from sqlite_master where type = 'index' and tbl_name = ? and sql is not null")
    .all(list)
  return indexes.flatMap(({ name, sql }) => {
    // As in: create index by_int_01 on executions_visibility (namespace_id, Int01, …)
    const field = /^create index \w+\s+on \w+ \(namespace_id,\s*(\w+),[^;]*\)$/i.exec(`${sql}`)?.[1]
    if (field === undefined || !mayBeEmpty.has(field)) return []
    return [{ name: `${name}`, sql: `${sql} where ${field} is not null` }]
  })
}
