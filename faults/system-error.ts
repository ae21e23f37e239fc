/**
 * Reading errors of the system: of the file system, or of SQLite, which asks the file system in turn.
 *
 * Invariants
 * - Codes of the file system and of SQLite are read here and nowhere else.
 * - Whatever was thrown, there is an answer; what says nothing that is known is `unknown`.
 */

/** The reason why the system failed a call. */
export type SystemFailure =
  | 'disk_full'
  | 'no_permission'
  /** A file is where a folder is needed, or anything where nothing may be yet. */
  | 'not_a_directory'
  | 'is_a_directory'
  | 'missing'
  /** Another process or connection holds it. */
  | 'locked'
  /** Bytes are not those that were written. */
  | 'corrupt'
  /** The file or database has been closed. */
  | 'closed'
  /** The system refused, for a reason that may pass. */
  | 'io'
  | 'unknown'

const byCode: ReadonlyMap<string, SystemFailure> = new Map([
  ['EACCES', 'no_permission'],
  ['EPERM', 'no_permission'],
  ['EROFS', 'no_permission'],
  ['ENOSPC', 'disk_full'],
  ['EDQUOT', 'disk_full'],
  ['ENOTDIR', 'not_a_directory'],
  ['EEXIST', 'not_a_directory'],
  ['EISDIR', 'is_a_directory'],
  ['ENOENT', 'missing'],
  ['ERR_INVALID_STATE', 'closed'],
])

/** Primary result codes of SQLite, https://sqlite.org/rescode.html; extended codes carry them in the low byte. */
const bySqliteCode: ReadonlyMap<number, SystemFailure> = new Map([
  [3, 'no_permission'], // SQLITE_PERM
  [5, 'locked'], // SQLITE_BUSY
  [6, 'locked'], // SQLITE_LOCKED
  [7, 'io'], // SQLITE_NOMEM
  [8, 'no_permission'], // SQLITE_READONLY
  [10, 'io'], // SQLITE_IOERR
  [11, 'corrupt'], // SQLITE_CORRUPT
  [13, 'disk_full'], // SQLITE_FULL
  [14, 'no_permission'], // SQLITE_CANTOPEN
  [15, 'locked'], // SQLITE_PROTOCOL: the lock of the WAL could not be had
  [23, 'no_permission'], // SQLITE_AUTH
  [26, 'corrupt'], // SQLITE_NOTADB
])

/** The code of an error of Node; undefined where it has none. @example codeOf(error) === 'ENOENT' */
export function codeOf(error: unknown): string | undefined {
  const code = fieldOf(error, 'code')
  return typeof code === 'string' ? code : undefined
}

/** The reason in an error of `node:fs`, `node:sqlite` or `node:child_process`. */
export function systemFailureOf(error: unknown): SystemFailure {
  const sqliteCode = fieldOf(error, 'errcode')
  if (typeof sqliteCode === 'number') return bySqliteCode.get(sqliteCode & 0xff) ?? 'unknown'
  const code = codeOf(error)
  if (code === undefined) return 'unknown'
  // Node's own refusals begin with ERR_: the request was wrong, not the system.
  return byCode.get(code) ?? (code.startsWith('ERR_') ? 'unknown' : 'io')
}

function fieldOf(error: unknown, field: 'code' | 'errcode'): unknown {
  return typeof error === 'object' && error !== null
    ? (error as { readonly [name in typeof field]?: unknown })[field]
    : undefined
}
