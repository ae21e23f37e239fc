/**
 * Checks of a home directory: everything that a crash, a full disk or a copy may have left in it.
 *
 * Invariants
 * - Without `repair` no change is kept.
 * - One check that fails keeps no other from being made.
 */

import { existsSync } from 'node:fs'
import { type RunId, workflowIdOf } from '../../identity/identity.ts'
import { type Home, homeAt } from '../../storage/disk/home.ts'
import { isStoreWritable } from '../../storage/place.ts'
import { openStore } from '../../storage/store.ts'
import { externalServer, withServer } from '../../temporal/connection.ts'
import { describedExecution } from '../../temporal/histories.ts'
import { homeNameOn } from '../../temporal/home-name.ts'
import { findTemporalBinary, type TemporalBinary } from '../../temporal/server/startup/binary.ts'
import { type Check, check } from './check.ts'
import { type Attendance, checkRuns, unseen } from './run-checks.ts'
import { checkServerHome, livingUsers } from './server-checks.ts'
import { checkLeases, checkStore } from './store-checks.ts'

/** All checks of a home; none where there is no home yet. */
export async function examineHome(
  directory: string,
  { repair }: { readonly repair: boolean },
): Promise<readonly Check[]> {
  const home = homeAt(directory)
  if (!existsSync(home.dir)) return []
  const isExternal = process.env.TEMPORAL_ADDRESS !== undefined && externalServer() !== undefined
  // That it cannot be written, the check of the machine tells.
  const examination = { repair: repair && (await mayWrite(home)), inUse: livingUsers(home) > 0 }
  const server = isExternal ? [] : await checkServerHome(home, await installedBinary(), examination)
  const store = await checkStore(home, examination)
  const isUsable =
    store.length > 0 &&
    store.every(({ state }) => state !== 'wrong') &&
    !store.some(({ name, detail }) => name === 'schema' && detail.includes('earlier release; the next'))
  if (!isUsable) return [...server, ...store]
  const leases = await checkLeases(home, examination)
  try {
    const names = isExternal ? [await nameOnServer(home)] : []
    // No server has to be asked where no process uses one: then no process works on any run.
    const runs =
      isExternal || examination.inUse
        ? await withAttendance(home.dir, (attended) => checkRuns(home, attended, examination))
        : await checkRuns(home, async () => false, examination)
    return [...server, ...store, leases, ...names, ...runs]
  } catch (error) {
    return [...server, ...store, leases, unseen(error)]
  }
}

async function mayWrite({ storeFile }: Home): Promise<boolean> {
  try {
    return await isStoreWritable(storeFile)
  } catch {
    // The check of the store tells why it cannot be asked.
    return false
  }
}

async function nameOnServer(home: Home): Promise<Check> {
  await using store = await openStore(home.storeFile, { create: false, access: 'read' })
  const name = homeNameOn({ isOwn: false }, store)
  return check.fine('name on the server', `${name}: workflow ids begin with it`)
}

async function installedBinary(): Promise<TemporalBinary | undefined> {
  try {
    return await findTemporalBinary(() => undefined)
  } catch {
    // The check of the machine tells it.
    return undefined
  }
}

async function withAttendance<T>(home: string, use: (attended: Attendance) => Promise<T>): Promise<T> {
  return withServer(home, { restartsHung: false }, async (client, server) => {
    await using store = await openStore(homeAt(home).storeFile, { create: false, access: 'read' })
    return await use(async (run: RunId) => {
      const execution = await describedExecution(client, workflowIdOf(homeNameOn(server, store), run))
      return execution?.status.name === 'RUNNING'
    })
  })
}
