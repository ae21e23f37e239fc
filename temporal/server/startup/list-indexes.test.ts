import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { thinIndexes } from './list-indexes.ts'

let folder: string
let file: string

/** A list of executions in small, with the server's ways of writing indexes. */
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-indexes-'))
  file = join(folder, 'temporal.db')
  using database = new DatabaseSync(file)
  database.exec(`
    create table executions_visibility (
      namespace_id char(64) not null, run_id char(64) not null, status int not null, close_time timestamp null,
      search_attributes text null,
      Int01 bigint generated always as (json_extract(search_attributes, '$.Int01')),
      primary key (namespace_id, run_id));
    create index by_status on executions_visibility (namespace_id, status, run_id);
    create index default_idx on executions_visibility (namespace_id, (coalesce(close_time, '9999-12-31')) desc, run_id);
    CREATE INDEX by_int_01      ON executions_visibility (namespace_id, Int01,
      (COALESCE(close_time, '9999-12-31')) DESC, run_id);
    create unique index of_another_kind on executions_visibility (namespace_id, close_time, run_id);
    create table others (namespace_id char(64), Int01 bigint);
    create index by_other on others (namespace_id, Int01)`)
  const insert = database.prepare(
    'insert into executions_visibility (namespace_id, run_id, status, search_attributes) values (?, ?, ?, ?)',
  )
  for (let run = 0; run < 50; run++)
    insert.run('n', `r${run}`, run % 3, run % 2 === 0 ? null : JSON.stringify({ Int01: run % 7 }))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function read(sql: string): unknown[] {
  using database = new DatabaseSync(file, { readOnly: true })
  return database.prepare(sql).all()
}

const conditions = ['= 3', '> 4', '<= 2', 'in (1, 5)', 'is not null', 'is null', '!= 3', 'between 2 and 4']
const queries = conditions.map(
  (condition) => `select run_id from executions_visibility where namespace_id = 'n' and Int01 ${condition}`,
)

// [INDEXES-1]
test('every condition on a field finds the same executions, one on a value by the same index', () => {
  const found = () => queries.map((sql) => new Set(read(sql).map((row) => JSON.stringify(row))))
  const plans = () =>
    queries
      .filter((sql) => !/ (is null|is not null|!= 3)$/.test(sql))
      .flatMap((sql) => read(`explain query plan ${sql}`) as { detail: string }[])
      .map(({ detail }) => detail)
  const [answers, ways] = [found(), plans()]
  for (const way of ways) expect(way).toContain('by_int_01')
  expect(thinIndexes(file)).toBe(1)
  expect(found()).toEqual(answers)
  expect(plans()).toEqual(ways)
})

test('only indexes of fields that may be empty become partial, and only those of the list', () => {
  thinIndexes(file)
  const partial = read("select name from sqlite_master where type = 'index' and sql like '%is not null'")
  expect(partial).toEqual([{ name: 'by_int_01' }])
  expect(read("select name from sqlite_master where type = 'index' and sql is not null")).toHaveLength(5)
})

// [INDEXES-2]
test('what is thin stays as it is', () => {
  thinIndexes(file)
  const schema = read('select sql from sqlite_master order by name')
  expect(thinIndexes(file)).toBe(0)
  expect(read('select sql from sqlite_master order by name')).toEqual(schema)
})

// [INDEXES-2]
test('a file that cannot be changed keeps all its indexes', () => {
  const before = read('select sql from sqlite_master order by name')
  using database = new DatabaseSync(file)
  database.exec('begin immediate')
  expect(() => thinIndexes(file, 0)).toThrow(/locked/)
  database.exec('rollback')
  expect(read('select sql from sqlite_master order by name')).toEqual(before)
})
