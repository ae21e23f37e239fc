/**
 * Faults of PostgreSQL: an SQLSTATE, or an error of the connection, as a fault of the store.
 *
 * Invariants
 * - SQLSTATEs are read here and nowhere else. Faults of the kinds `io`, `locked`, `disk_full` and `closed` can be tried again, others
 *   cannot.
 */
import { reasonOf } from '../../faults/reason.ts'
import { codeOf } from '../../faults/system-error.ts'
import { redact } from '../../machine/secrets/secret.ts'
import { StorageFault, type StorageFaultKind } from '../disk/fault.ts'

type Reading = readonly [StorageFaultKind, advice: string]

const lost: Reading = [
  'io',
  'the connection failed; check that PostgreSQL answers there, and the work continues',
]
const locked: Reading = ['locked', 'another session keeps it locked; try again']
const login: Reading = [
  'no_permission',
  'PostgreSQL refuses the login; correct user and password in PERDURE_STORE',
]
const gone: Reading = ['missing', 'its schema or a table of it is gone; restore it from a backup']

/** By SQLSTATE, or by its class of two characters: https://www.postgresql.org/docs/current/errcodes-appendix.html */
const byState: ReadonlyMap<string, Reading> = new Map<string, Reading>([
  ['08', lost],
  ['57', lost],
  ['58', ['io', 'PostgreSQL cannot reach its files; see its log']],
  ['53', ['io', 'PostgreSQL lacks connections or memory; see its max_connections']],
  ['53100', ['disk_full', 'the disk of PostgreSQL is full; free space there and the work continues']],
  ['40', locked],
  ['55P03', locked],
  ['28', login],
  [
    '42501',
    [
      'no_permission',
      'the user of PERDURE_STORE lacks a privilege; grant it the schema, or let it create one',
    ],
  ],
  ['25006', ['no_permission', 'the database takes no writes; connect to the primary server']],
  ['3D000', ['missing', 'the database does not exist; create it with createdb']],
  ['3F000', gone],
  ['42P01', gone],
  ['XX', ['corrupt', 'PostgreSQL finds its data damaged; restore the database from a backup']],
])

/** @returns the fault for an error of the client; a StorageFault is returned as it is */
export function postgresFaultOf(error: unknown, place: string): StorageFault {
  if (error instanceof StorageFault) return error
  const [kind, advice] = readingOf(error)
  return new StorageFault(kind, `store ${place}: ${advice} (${redact(reasonOf(error))})`, { cause: error })
}

function readingOf(error: unknown): Reading {
  const code = codeOf(error)
  if (code !== undefined && /^[0-9A-Z]{5}$/.test(code) && hasSeverity(error))
    return (
      byState.get(code) ??
      byState.get(code.slice(0, 2)) ?? ['internal', 'a request failed that should not; please report it']
    )
  // Errors of the client have no SQLSTATE; those of the socket have the system's code.
  const text = error instanceof Error ? error.message : ''
  if (/was closed|after calling end|already been destroyed/.test(text))
    return ['closed', 'the store was closed']
  if (code !== undefined || /connect|terminated|timeout|not queryable/i.test(text)) return lost
  return ['internal', 'a request failed that should not; please report it with its cause']
}

/** Only what the server says has one. */
function hasSeverity(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'severity' in error
}
