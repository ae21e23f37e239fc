/**
 * Files in progress: each has a name of its own beside its target, and the remains of a killed writer are removed.
 *
 * Invariants
 * - [PARTIAL-1] The remains of a killed writer are recognised by their name and removed by the next one.
 */
import { createHash } from 'node:crypto'
import { open, readdir, rm, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { chance } from '../services/chance.ts'
import { clock } from '../services/clock.ts'
import { isAlive, readProcess, thisProcess, writtenProcess } from './process.ts'

/** This machine, in the name of what its processes write. */
const machine = createHash('sha256').update(hostname()).digest('hex').slice(0, 8)

/** A name in the same folder that no other writer uses and no reader looks for; it tells who writes. */
export function nameBeside(path: string): string {
  const writer = `${machine}-${writtenProcess(thisProcess())}-${chance.bytes(6).toString('hex')}`
  return join(dirname(path), `.${basename(path)}.${writer}.partial`)
}

/** No write takes as long, and no clock jumps so far; older files of machines and containers that cannot be asked are leftovers. */
const abandonedAfterMs = 24 * 60 * 60 * 1000

const partialName = /^\..*?\.([0-9a-f]{8})-([0-9a-z]+)-[0-9a-f]{12}\.partial$/

/** Removes what writers that died have left in a folder. */
export async function removeAbandoned(folder: string): Promise<void> {
  const before = clock.now() - abandonedAfterMs
  for (const name of await readdir(folder)) {
    const match = partialName.exec(name)
    if (match === null) continue
    const [, where, writer = ''] = match
    const path = join(folder, name)
    // Another process may have finished or removed it meanwhile.
    const found = await stat(path).catch(() => undefined)
    if (found === undefined) continue
    const isLeft = found.mtimeMs < before || (where === machine && hasEnded(writer))
    if (isLeft) await rm(path, { recursive: true, force: true })
  }
}

function hasEnded(writer: string): boolean {
  const process = readProcess(writer)
  return process !== undefined && isAlive(process) === false
}

/** Makes renames and new names in a folder survive a power cut. */
export async function flushFolder(folder: string): Promise<void> {
  await using handle = await open(folder, 'r')
  await handle.sync()
}

/** Makes what another program has written survive a power cut. */
export async function flushFile(file: string): Promise<void> {
  await using handle = await open(file, 'r')
  await handle.sync()
}
