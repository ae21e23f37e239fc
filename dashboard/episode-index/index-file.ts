/**
 * The file of the episode index: a table of all episodes of a home as it is filtered and sorted, and the words that were
 * said in them (SQLite FTS5). The store has neither, because training would pay for both with each turn.
 *
 * It lies in the user's cache, one file for each home, and is filled by the process of `perdure ui` alone.
 *
 * Invariants
 * - [INDEX-FILE-1] Its contents follow from the store: a file of another store, of another release, or damaged, is rebuilt.
 * - Where the cache cannot be written it lies in a temporary folder, which goes when it is closed.
 * - The cache holds the indexes of `mostFiles` homes, those that were used last.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, realpathSync, rmSync, statSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { cacheFolder, makeFolder } from '../../machine/files/folder.ts'

/** Raised when the tables change: files with other tables are rebuilt. */
const layout = 1
const mostFiles = 8
/** Two processes that show one home share the file. */
const busyMs = 2000

export interface IndexFile extends Disposable {
  readonly database: DatabaseSync
}

const tables = `
  create table facts (name text primary key, value text not null) without rowid;
  create table episodes (
    number integer primary key,
    id text not null, run text not null, parent text not null, kind text not null,
    sample integer not null, attempt integer not null, task text not null, instance text not null,
    outcome text, reward real, turns integer, tokens integer, action_tokens integer,
    version_min integer, version_max integer, created integer not null, ended integer,
    won integer, kept integer not null, said integer not null
  );
  create unique index episodes_by_id on episodes (id);
  create index episodes_by_parent on episodes (parent);
  create index episodes_by_created on episodes (created, number);
  create index episodes_by_ended on episodes (ended, number);
  create index episodes_by_reward on episodes (reward, number);
  create index episodes_by_turns on episodes (turns, number);
  create index episodes_by_tokens on episodes (tokens, number);
  create index episodes_by_task on episodes (task, number);
  create index episodes_by_instance on episodes (instance, number);
  create index episodes_by_outcome on episodes (outcome, number);
  create index episodes_by_version on episodes (version_max, number);
  create index episodes_by_run on episodes (run, number);
  create index episodes_played on episodes (number) where outcome is null;
  create index episodes_unsaid on episodes (number) where said = 0;
  create virtual table words using fts5 (said, content = '', contentless_delete = 1,
    tokenize = "unicode61 remove_diacritics 2 tokenchars '_'");
`

/**
 * Opens the index of a store, empty where there is none that fits.
 * @param of.store the store's place; @param of.scope what the store is known by, whatever its file is called
 * @param of.folder of the cache's files; in the user's cache by default
 */
export function openIndexFile(of: {
  readonly store: string
  readonly scope: string
  readonly folder?: string
}): IndexFile {
  const { scope, store, folder = join(cacheFolder(), 'dashboard') } = of
  const name = `${createHash('sha256')
    .update(existsSync(store) ? realpathSync(store) : store)
    .digest('hex')
    .slice(0, 24)}.db`
  try {
    makeFolder(folder)
    const file = join(folder, name)
    const database = openFitting(file, scope) ?? openFitting(withoutFile(file), scope)
    if (database !== undefined) {
      touch(file)
      removeOldest(folder)
      return closing(database)
    }
  } catch {
    // A cache that cannot be used is done without.
  }
  const temporary = mkdtempSync(join(tmpdir(), 'perdure-index-'))
  const database = openFitting(join(temporary, name), scope)
  if (database === undefined)
    throw new Error(`no index can be made in ${temporary}: check that its disk has room`)
  return closing(database, () => rmSync(temporary, { recursive: true, force: true }))
}

/** @returns undefined for a file that is another store's or no index */
function openFitting(file: string, scope: string): DatabaseSync | undefined {
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(file, { timeout: busyMs })
    // Lost in a crash, it is filled again: nothing has to reach the disk at once.
    database.exec('pragma journal_mode = wal; pragma synchronous = off; pragma cache_size = -8000')
    const known = database.prepare("select 1 from sqlite_master where name = 'facts'").get() !== undefined
    if (!known) makeTables(database, scope)
    const facts = factsOf(database)
    if (facts.get('scope') === scope && facts.get('layout') === String(layout)) return database
  } catch {
    // It is damaged, or the disk refuses: the caller tries another.
  }
  database?.close()
  return undefined
}

function makeTables(database: DatabaseSync, scope: string): void {
  database.exec(`begin immediate; ${tables}`)
  const put = database.prepare('insert into facts values (?, ?)')
  put.run('scope', scope)
  put.run('layout', String(layout))
  database.exec('commit')
}

function factsOf(database: DatabaseSync): ReadonlyMap<string, string> {
  const rows = database.prepare('select name, value from facts').all()
  return new Map(rows.map(({ name, value }) => [String(name), String(value)]))
}

function withoutFile(file: string): string {
  for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true })
  return file
}

function touch(file: string): void {
  const now = new Date()
  utimesSync(file, now, now)
}

function removeOldest(folder: string): void {
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.db'))
    .map((name) => ({ file: join(folder, name), used: statSync(join(folder, name)).mtimeMs }))
    .sort((a, b) => b.used - a.used)
  for (const { file } of files.slice(mostFiles)) withoutFile(file)
}

function closing(database: DatabaseSync, afterwards: () => void = () => undefined): IndexFile {
  return {
    database,
    [Symbol.dispose]: () => {
      if (database.isOpen) database.close()
      afterwards()
    },
  }
}
