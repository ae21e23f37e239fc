/**
 * Checks of the store of a home: whether it is whole, of this release, and closed.
 *
 * Invariants
 * - Looking changes no row; the log that a killed process left is taken in, as by every command.
 * - Before a damaged store is repaired, a copy of it is put aside.
 */
import { copyFileSync, existsSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { reasonOf } from '../../faults/reason.ts'
import { makeFolder } from '../../machine/files/folder.ts'
import { endExpired, type LeaseKind } from '../../machine/processes/lease.ts'
import { isAddress } from '../../storage/disk/address.ts'
import { type StorageFault, storageFaultOf } from '../../storage/disk/fault.ts'
import type { Home } from '../../storage/disk/home.ts'
import { lostStore } from '../../storage/disk/lost-store.ts'
import { hasStore, isStoreCurrent, storeBytes } from '../../storage/place.ts'
import { isWritable, openForReading } from '../../storage/sqlite/read-only.ts'
import { openStore } from '../../storage/store.ts'
import { bytes } from '../terminal/wording.ts'
import { type Check, check, type Examination, mayRepair, plural, unrepaired } from './check.ts'

const name = 'store'
const namedProblems = 3

/** The checks of the store; it is safe to open where none is wrong. */
export async function checkStore(home: Home, examination: Examination): Promise<readonly Check[]> {
  const { storeFile } = home
  if (isAddress(storeFile)) return checkAddress(storeFile, examination)
  const lost = lostStore(storeFile)
  if (lost !== undefined)
    return [
      check.wrong(
        name,
        lost.message,
        'Restore a backup; without it the checkpoints can still be used (policy.from), not their runs.',
      ),
    ]
  if (!existsSync(storeFile)) return []
  const left = sizeOf(`${storeFile}-wal`)
  const integrity = await checkIntegrity(home, examination)
  if (integrity.state === 'wrong') return [integrity]
  const schema = await checkSchema(storeFile, examination)
  if (schema.state === 'wrong') return [integrity, schema]
  return [integrity, schema, ...checkLog(storeFile, left, examination)]
}

/** The server checks its own files; whether it answers, and with which schema, is asked here. */
async function checkAddress(place: string, examination: Examination): Promise<readonly Check[]> {
  try {
    if (!(await hasStore(place))) return []
    const answers = check.fine(name, `${place} answers and takes ${bytes(await storeBytes(place))}`)
    return [answers, await checkSchema(place, examination)]
  } catch (error) {
    const { message } = storageFaultOf(error, `store ${place}`)
    return [check.wrong(name, message, 'Repair what the message names, and run the check again.')]
  }
}

async function checkIntegrity(home: Home, examination: Examination): Promise<Check> {
  const { storeFile } = home
  const problems = problemsOf(storeFile)
  if (problems.length === 0) return check.fine(name, `${basename(storeFile)} is whole`)
  const detail = `${storeFile} is damaged: ${problems.slice(0, namedProblems).join('; ')}`
  const advice =
    'Its indices can be rebuilt from its rows. For other damage restore a backup, or move the file away and start over.'
  if (!mayRepair(examination)) return unrepaired(check.wrong(name, detail, advice), examination)
  try {
    makeFolder(home.asideDir)
    const copy = join(home.asideDir, `store-${Date.now()}.db`)
    copyFileSync(storeFile, copy)
    rebuildIndices(storeFile)
    if (problemsOf(storeFile).length === 0)
      return check.repaired(name, `its indices were rebuilt; ${copy} is as it was before`)
  } catch {
    // The result below reports the damage as it was found.
  }
  return check.wrong(name, detail, 'It cannot be repaired: restore a backup, or move it away and start over.')
}

function rebuildIndices(file: string): void {
  using database = new DatabaseSync(file)
  database.exec('reindex')
}

function checkpointLog(file: string): void {
  using database = new DatabaseSync(file)
  database.exec('pragma wal_checkpoint(truncate)')
}

/** Problems that SQLite finds in a file. */
export function problemsOf(file: string): string[] {
  try {
    using opened = openForReading(file)
    return opened.database
      .prepare('pragma integrity_check(10)')
      .all()
      .map((row) => String(row.integrity_check))
      .filter((line) => line !== 'ok')
  } catch (error) {
    return [reasonOf(error)]
  }
}

async function checkSchema(place: string, examination: Examination): Promise<Check> {
  const what = 'schema'
  let current: boolean
  try {
    current = await isStoreCurrent(place)
  } catch (error) {
    return { name: what, state: 'wrong', ...faultWords(storageFaultOf(error, place)) }
  }
  if (current) return check.fine(what, 'of this release')
  if (!mayRepair(examination))
    return check.fine(what, 'of an earlier release; the next command that uses it updates it')
  const store = await openStore(place, { create: false })
  await store.close()
  return check.repaired(what, 'was of an earlier release and is of this one now')
}

function faultWords({ message }: StorageFault): { readonly detail: string; readonly advice: string } {
  return { detail: message, advice: 'Update Perdure, or use another home.' }
}

/** A write-ahead log that no process has open was left by one that was killed; opening the store takes it in. */
function checkLog(file: string, left: number, { inUse }: Examination): readonly Check[] {
  if (left === 0 || inUse || !isWritable(file)) return []
  checkpointLog(file)
  const detail = `a process that was killed left ${bytes(left)} in it; they were taken in`
  return [check.repaired(`${basename(file)}-wal`, detail)]
}

function sizeOf(file: string): number {
  return existsSync(file) ? statSync(file).size : 0
}

const leaseKinds: readonly LeaseKind[] = ['container', 'database', 'folder']

/** Leases whose owner has stopped renewing them. */
export async function checkLeases({ storeFile }: Home, { repair }: Examination): Promise<Check> {
  const what = 'leases'
  await using store = await openStore(storeFile, { create: false, access: 'read' })
  const now = Date.now()
  const leases = (await Promise.all(leaseKinds.map((kind) => store.leases.list(kind)))).flat()
  const expired = leases.filter(({ expires }) => expires <= now)
  const living = `${plural(leases.length - expired.length, 'lease')} in use`
  if (expired.length === 0) return check.fine(what, living)
  const dead = `${plural(expired.length, 'lease')} of dead owners (${expired.map(({ id }) => id).join(', ')})`
  if (!repair)
    return check.warning(
      what,
      dead,
      'The next session removes what they name; `perdure doctor --repair` ends them at once.',
    )
  for (const kind of leaseKinds) await endExpired(store.leases, kind, now)
  return check.repaired(what, `${dead} were ended; the next session removes their leftovers`)
}
