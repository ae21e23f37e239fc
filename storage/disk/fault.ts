/**
 * Faults of storage: one vocabulary for everything that keeps data from being written or read.
 *
 * Invariants
 * - Each fault says what to do, and whether trying again later can help (`permanent`).
 * - A fault of SQLite or the file system becomes a StorageFault here and nowhere else; its origin is the cause.
 */
import { Fault } from '../../faults/fault.ts'
import { reasonOf } from '../../faults/reason.ts'
import { type SystemFailure, systemFailureOf } from '../../faults/system-error.ts'

/** Kind of a fault; its `permanent` says whether waiting can help. */
export type StorageFaultKind =
  /** Bytes are not those that were written. */
  | 'corrupt'
  /** The file or row was never written. */
  | 'missing'
  /** Another process holds the store for longer than a write may wait. */
  | 'locked'
  | 'disk_full'
  /** The home is on a file system of the network. */
  | 'network_disk'
  /** The store was written by a later release. */
  | 'newer_schema'
  | 'no_permission'
  | 'not_a_directory'
  /** `PERDURE_STORE` is no address that can be used. */
  | 'bad_address'
  /** A package that this store needs is not installed. */
  | 'not_installed'
  /** The identity's work is stored already, done otherwise. */
  | 'conflict'
  | 'closed'
  | 'io'
  /** Not the system's fault but ours: a request that no store could serve. */
  | 'internal'

/** Storage refused or failed a request. */
export class StorageFault extends Fault<StorageFaultKind> {
  override readonly name = 'StorageFault'
  // A process that stops closes its store under running work, which another process then does: `closed` may be tried again.
  protected static override readonly permanentKinds: readonly StorageFaultKind[] = [
    'corrupt',
    'missing',
    'network_disk',
    'newer_schema',
    'no_permission',
    'not_a_directory',
    'bad_address',
    'not_installed',
    'conflict',
    'internal',
  ]
}

const advice: Record<StorageFaultKind, string> = {
  corrupt: 'it is damaged or no Perdure store; restore it from a copy, or start with another --home',
  missing: 'it does not exist',
  locked: 'another process keeps it locked; end that process, or try again',
  disk_full: 'the disk is full; free space and the work continues',
  network_disk: 'it is on a network file system; choose a directory on a local disk with --home',
  newer_schema: 'a later release wrote it; update Perdure',
  no_permission: 'it cannot be opened for writing; check owner, permissions and that its folder exists',
  not_a_directory: 'a file is where a directory is needed; move it, or choose another --home',
  bad_address: 'its address cannot be used; correct PERDURE_STORE',
  not_installed: 'a package that it needs is not installed',
  conflict: 'it is stored already with other content',
  closed: 'the store was closed',
  io: 'the system refused the operation; see the cause',
  internal: 'a request failed that should not; please report it with its cause',
}

/** @returns the fault for an error of `node:sqlite` or `node:fs`; a StorageFault is returned as it is */
export function storageFaultOf(error: unknown, subject: string): StorageFault {
  if (error instanceof StorageFault) return error
  const kind = kindOf(systemFailureOf(error))
  return new StorageFault(kind, `${subject}: ${advice[kind]} (${reasonOf(error)})`, { cause: error })
}

function kindOf(failure: SystemFailure): StorageFaultKind {
  if (failure === 'unknown') return 'internal'
  return failure === 'is_a_directory' ? 'io' : failure
}
