/**
 * Temporary folders under a lease: gone with their owner, also when it was killed.
 *
 * Invariants
 * - A folder's name is its lease; what no live lease owns is removed by the next pass.
 */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from '../../faults/system-error.ts'
import { makeFolder } from '../files/folder.ts'
import { clock } from '../services/clock.ts'
import { endExpired, isUnowned, type LeaseHolder, type LeaseStore } from './lease.ts'

export interface LeasedFolder {
  readonly path: string
  /** Deletes the folder; may be called twice. */
  release(): Promise<void>
}

/** Every lease's id begins so. */
const pattern = /^(?<scope>[a-z0-9]+)\.(?<id>perdure-[a-z0-9-]+)$/

/** Makes a folder. @param parent where it is made; it is made too */
export async function leaseFolder(parent: string, scope: string, holder: LeaseHolder): Promise<LeasedFolder> {
  const id = await holder.hold('folder', () => undefined)
  const path = join(parent, `${scope}.${id}`)
  try {
    makeFolder(path)
  } catch (error) {
    await holder.drop(id)
    throw error
  }
  return {
    path,
    async release() {
      await rm(path, { recursive: true, force: true })
      await holder.drop(id)
    },
  }
}

/** Deletes the folders without an owner. @returns their paths */
export async function reapFolders(
  parent: string,
  leases: LeaseStore,
  now: number = clock.now(),
): Promise<readonly string[]> {
  const names = await readdir(parent).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return []
    throw error
  })
  const ids = await endExpired(leases, 'folder', now)
  const removed: string[] = []
  for (const name of names) {
    const { scope, id } = pattern.exec(name)?.groups ?? {}
    if (scope === undefined || id === undefined) continue
    if (!isUnowned({ id, scope }, { scope: leases.scope, ids })) continue
    const path = join(parent, name)
    await rm(path, { recursive: true, force: true })
    removed.push(path)
  }
  return removed
}
