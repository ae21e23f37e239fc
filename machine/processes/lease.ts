/**
 * Leases: who owns what outlives a process (containers, databases, temporary folders).
 *
 * Invariants
 * - A lease is taken before its resource is made and released after it is gone, so a resource that no
 *   live lease owns may be removed by any process that shares the leases.
 * - A lease lives as long as its owner renews it; one that expired is ended once, and its owner learns so
 *   at the next renewal.
 * - A lease of another owner, or of a process that cannot be asked, is left alone.
 * - A folder's name is its lease; what no live lease owns is removed by the next pass.
 */

import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from '../../faults/system-error.ts'
import { makeFolder } from '../files/folder.ts'
import { chance } from '../services/chance.ts'
import { clock, type Timer } from '../services/clock.ts'
import { processOfScopeAlive, processScope } from './process.ts'

export type LeaseKind = 'container' | 'database' | 'folder'

export interface Lease {
  /** Also the name of the resource, or a part of it: lower-case letters, digits and `-`. */
  readonly id: string
  readonly kind: LeaseKind
  /** Who renews it: one per process and pool. */
  readonly owner: string
  /** Milliseconds since the epoch. */
  readonly expires: number
}

/** Where leases are kept; those of a home are in its store. */
export interface LeaseStore {
  /** Names those who share these leases; part of each resource's name or labels. `[a-z0-9]+` */
  readonly scope: string
  /** Taking a lease that is there changes nothing. */
  take(lease: Lease): Promise<void>
  /** Prolongs all leases of an owner. @returns ids of those it still has */
  renew(owner: string, expires: number): Promise<readonly string[]>
  /** Forgets a lease; one that is not there is no error. */
  release(id: string): Promise<void>
  /** Ends a lease that has expired by `now`. @returns false when it was renewed, or is gone already */
  expire(id: string, now: number): Promise<boolean>
  list(kind: LeaseKind): Promise<readonly Lease[]>
}

/** Silence after which an owner counts as dead: longer than any stall of a busy worker. */
export const leaseTtlMs = 60_000

/** Three renewals may be lost before a lease is. */
export const renewalPeriodMs = leaseTtlMs / 4

/** How often resources without an owner are looked for. */
export const reapingPeriodMs = leaseTtlMs / 2

/** A resource as its backend lists it. */
export interface Leased {
  /** Id of the lease that it was made under. */
  readonly id: string
  /** Scope of that lease. */
  readonly scope: string
}

/** Temporary folders under a lease: gone with their owner, also when it was killed. */
interface LeasedFolder {
  readonly path: string
  /** Deletes the folder; may be called twice. */
  release(): Promise<void>
}

/**
 * Whether a resource may be removed. List the resources first and the leases after them: a lease is older
 * than its resource.
 * @param leases those of the scope that is given
 * @param processAlive whether the process of another scope lives; undefined where that cannot be known
 */
export function isUnowned(
  resource: Leased,
  leases: { readonly scope: string; readonly ids: ReadonlySet<string> },
  processAlive: (scope: string) => boolean | undefined = processOfScopeAlive,
): boolean {
  if (resource.scope === leases.scope) return !leases.ids.has(resource.id)
  return processAlive(resource.scope) === false
}

/**
 * Ends the expired leases of a kind.
 * @returns ids of all that live; what is not among them has no owner
 */
export async function endExpired(
  store: LeaseStore,
  kind: LeaseKind,
  now: number,
): Promise<ReadonlySet<string>> {
  const live = new Set<string>()
  for (const lease of await store.list(kind))
    if (lease.expires > now || !(await store.expire(lease.id, now))) live.add(lease.id)
  return live
}

/** Leases held by one owner, renewed until the last is dropped. */
export interface LeaseHolder {
  readonly owner: string
  /** Takes a lease for a resource about to be made. @returns its id */
  hold(kind: LeaseKind, onLost: () => void): Promise<string>
  /** Releases a lease whose resource is gone. */
  drop(id: string): Promise<void>
  /** Stops renewing; what is still held expires. */
  close(): void
}

/** Holds leases in a store; `onRenewalFault` hears of a store that does not answer. */
export function holdLeases(store: LeaseStore, onRenewalFault: (fault: unknown) => void): LeaseHolder {
  const owner = `${processScope()}-${chance.uuid().slice(0, 8)}`
  const held = new Map<string, { since: number; onLost: () => void }>()
  let timer: Timer | undefined

  async function renew(): Promise<void> {
    const asked = clock.now()
    const kept = new Set(await store.renew(owner, asked + leaseTtlMs))
    for (const [id, { since, onLost }] of held) {
      if (kept.has(id) || since >= asked) continue
      held.delete(id)
      onLost()
    }
  }

  function stop(): void {
    timer?.cancel()
    timer = undefined
  }

  return {
    owner,
    async hold(kind, onLost) {
      const id = `perdure-${chance.uuid()}`
      await store.take({ id, kind, owner, expires: clock.now() + leaseTtlMs })
      held.set(id, { since: clock.now(), onLost })
      if (timer === undefined) {
        timer = clock.every(renewalPeriodMs, () => void renew().catch(onRenewalFault)).unref()
      }
      return id
    },
    async drop(id) {
      held.delete(id)
      if (held.size === 0) stop()
      await store.release(id)
    },
    close: stop,
  }
}

/** Leases of this process alone: where there is no home directory, and nothing outlives the process but by mishap. */
export function createProcessLeases(): LeaseStore {
  const leases = new Map<string, Lease>()
  return {
    scope: processScope(),
    async take(lease) {
      if (!leases.has(lease.id)) leases.set(lease.id, lease)
    },
    async renew(owner, expires) {
      const own = [...leases.values()].filter((lease) => lease.owner === owner)
      for (const lease of own) leases.set(lease.id, { ...lease, expires })
      return own.map(({ id }) => id)
    },
    async release(id) {
      leases.delete(id)
    },
    async expire(id, now) {
      const lease = leases.get(id)
      return lease !== undefined && lease.expires <= now && leases.delete(id)
    },
    async list(kind) {
      return [...leases.values()].filter((lease) => lease.kind === kind)
    },
  }
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
