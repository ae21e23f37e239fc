/**
 * Faults of storage: one vocabulary for everything that keeps data from being written or read.
 *
 * Invariants
 * - Each fault says what to do, and whether trying again later can help (`permanent`).
 * - A fault of SQLite or the file system is classified here and nowhere else; its origin is the cause.
 */

/** What went wrong; `permanent` on the fault tells which of them waiting cannot mend. */
export type StorageFaultKind =
  /** Bytes are not those that were written. */
  | 'corrupt'
  /** What was asked for was never written. */
  | 'missing'
  /** Another process holds the store for longer than a write may wait. */
  | 'locked'
  | 'disk_full'
  /** The store was written by a later release. */
  | 'newer_schema'
  | 'no_permission'
  | 'not_a_directory'
  /** The identity's work is stored already, done otherwise. */
  | 'conflict'
  | 'closed'
  | 'io'
  /** Not the system's fault but ours: a request that no store could serve. */
  | 'internal'

const permanence: Record<StorageFaultKind, boolean> = {
  corrupt: true,
  missing: true,
  locked: false,
  disk_full: false,
  newer_schema: true,
  no_permission: true,
  not_a_directory: true,
  conflict: true,
  // A process that stops closes its store under running work, which another process then does.
  closed: false,
  io: false,
  internal: true,
}

/** Storage could not do what it was asked. */
export class StorageFault extends Error {
  override readonly name = 'StorageFault'
  readonly kind: StorageFaultKind
  /** A fault that trying again cannot mend. */
  readonly permanent: boolean

  constructor(kind: StorageFaultKind, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.kind = kind
    this.permanent = permanence[kind]
  }
}

/** Primary result codes of SQLite, https://sqlite.org/rescode.html; extended codes carry them in the low byte. */
const sqliteKinds: ReadonlyMap<number, StorageFaultKind> = new Map([
  [3, 'no_permission'], // SQLITE_PERM
  [5, 'locked'], // SQLITE_BUSY
  [6, 'locked'], // SQLITE_LOCKED
  [8, 'no_permission'], // SQLITE_READONLY
  [7, 'io'], // SQLITE_NOMEM
  [10, 'io'], // SQLITE_IOERR
  [11, 'corrupt'], // SQLITE_CORRUPT
  [13, 'disk_full'], // SQLITE_FULL
  [14, 'no_permission'], // SQLITE_CANTOPEN
  [15, 'locked'], // SQLITE_PROTOCOL: the lock of the WAL could not be had
  [23, 'no_permission'], // SQLITE_AUTH
  [26, 'corrupt'], // SQLITE_NOTADB
])

const fileKinds: ReadonlyMap<string, StorageFaultKind> = new Map([
  ['EACCES', 'no_permission'],
  ['EPERM', 'no_permission'],
  ['EROFS', 'no_permission'],
  ['ENOSPC', 'disk_full'],
  ['EDQUOT', 'disk_full'],
  ['ENOTDIR', 'not_a_directory'],
  ['EEXIST', 'not_a_directory'],
  ['ENOENT', 'missing'],
])

const advice: Record<StorageFaultKind, string> = {
  corrupt: 'it is damaged or no Perdure store; restore it from a copy, or start with another --home',
  missing: 'it does not exist',
  locked: 'another process keeps it locked; end that process, or try again',
  disk_full: 'the disk is full; free space and the work goes on',
  newer_schema: 'a later release wrote it; update Perdure',
  no_permission: 'it cannot be opened for writing; check owner, permissions and that its folder exists',
  not_a_directory: 'a file stands where a directory is needed; move it, or choose another --home',
  conflict: 'it is stored already with other content',
  closed: 'the store was closed',
  io: 'the system refused the operation; see the cause',
  internal: 'a request failed that should not; please report it with its cause',
}

/** @returns the fault for an error of `node:sqlite` or `node:fs`; a StorageFault is returned as it is */
export function storageFaultOf(error: unknown, subject: string): StorageFault {
  if (error instanceof StorageFault) return error
  const { code, errcode, message } = error as { code?: unknown; errcode?: unknown; message?: unknown }
  let kind: StorageFaultKind = 'internal'
  if (typeof errcode === 'number') kind = sqliteKinds.get(errcode & 0xff) ?? 'internal'
  else if (code === 'ERR_INVALID_STATE') kind = 'closed'
  else if (typeof code === 'string')
    kind = fileKinds.get(code) ?? (code.startsWith('ERR_') ? 'internal' : 'io')
  return new StorageFault(kind, `${subject}: ${advice[kind]} (${String(message ?? error)})`, { cause: error })
}
