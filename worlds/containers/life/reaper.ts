/**
 * The reaper: removes the containers that have no owner any more.
 *
 * Invariants
 * - [REAPER-1] A container with a live lease is never removed, nor one whose owner cannot be asked.
 * - [REAPER-2] After `kill -9` of everything, one pass after the leases have expired leaves no container and no
 *   lease.
 * - [REAPER-3] A container that the engine lists but does not have is ignored: a Docker that is restarted while a container
 *   ends removes it, and may list it as dead until the next restart.
 */
import { endExpired, isUnowned, type LeaseStore } from '../../../machine/processes/lease.ts'
import { labels } from '../container-settings.ts'
import { type Engine, engineFault } from '../engine.ts'
import { remove } from './container-life.ts'

/**
 * One pass over the containers of an engine.
 * @param now milliseconds since the epoch
 * @returns names of what was removed
 * @throws ContainerFault `backend`
 */
export async function reapContainers(
  { docker }: Engine,
  leases: LeaseStore,
  now: number = Date.now(),
): Promise<readonly string[]> {
  try {
    // First the containers, then the leases: a lease is older than its container.
    const found = await docker.listContainers({ all: true, filters: { label: [labels.lease] } })
    const ids = await endExpired(leases, 'container', now)
    const removed: string[] = []
    for (const { Id, Labels } of found) {
      const { [labels.lease]: id, [labels.scope]: scope } = Labels
      if (id === undefined || scope === undefined) continue
      if (!isUnowned({ id, scope }, { scope: leases.scope, ids })) continue
      if (await remove(docker.getContainer(Id))) removed.push(id)
    }
    return removed
  } catch (cause) {
    throw engineFault(cause, 'looking for containers without an owner')
  }
}

/**
 * Removes the containers of one owner, whatever state they are in.
 * @returns how many that were
 * @throws ContainerFault `backend`
 */
export async function removeContainersOf({ docker }: Engine, owner: string): Promise<number> {
  try {
    const found = await docker.listContainers({ all: true, filters: { label: [`${labels.owner}=${owner}`] } })
    let removed = 0
    for (const { Id } of found) if (await remove(docker.getContainer(Id))) removed += 1
    return removed
  } catch (cause) {
    throw engineFault(cause, `removing the containers of ${owner}`)
  }
}
