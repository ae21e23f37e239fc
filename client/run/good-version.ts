/**
 * The version to use in place of a requested one, and the suite that measures it.
 *
 * Invariants
 * - A version whose checkpoint is broken is replaced by the newest good one before it, with a message.
 * - Rejects a version that was not kept and lists the ones that were; the published one counts as broken where
 *   it is missing.
 * - Asks no server: the store and the configuration know both.
 */

import type { RunConfig } from '../../config/schema/schema.ts'
import type { RunId } from '../../identity/identity.ts'
import { latestGoodCheckpoint, publishedVersions } from '../../policy/checkpoints/versions.ts'
import type { Home } from '../../storage/disk/home.ts'
import type { Store } from '../../storage/store.ts'
import { SessionFault } from './session-fault.ts'

interface Dependencies {
  readonly home: Home
  readonly store: Store
  readonly log: (line: string) => void
}

/** @throws SessionFault `unknown_version` where the run's checkpoints are here and the version is not among them */
export async function requireKeptVersion(
  { home, store }: Pick<Dependencies, 'home' | 'store'>,
  run: RunId,
  version: number,
): Promise<void> {
  const versions = await publishedVersions(home.run(run).checkpointsDir)
  // Checkpoints of another machine are not here to be looked at.
  if (versions.length === 0 || versions.includes(version) || version === (await store.runs.version(run)))
    return
  throw new SessionFault(
    'unknown_version',
    `run ${run} keeps no version ${version}; it has ${versions.join(', ')}`,
  )
}

/** The good version for one that is asked for. @throws SessionFault `unknown_version` */
export type GoodVersion = (run: RunId, version: number) => Promise<number>

export function createGoodVersion({ home, store, log }: Dependencies): GoodVersion {
  return async (run, version) => {
    const { checkpointsDir } = home.run(run)
    if ((await publishedVersions(checkpointsDir)).length === 0) return version
    await requireKeptVersion({ home, store }, run, version)
    const { found, refused } = await latestGoodCheckpoint(checkpointsDir, version)
    for (const { fault } of refused) log(fault.message)
    if (found === undefined)
      throw new SessionFault('unknown_version', `run ${run} has no good checkpoint up to version ${version}`)
    if (found.version !== version) log(`version ${found.version} is used in place of ${version}`)
    return found.version
  }
}

/** The suite of a name, the first one by default. @throws SessionFault `unknown_suite` */
export function suiteOf(run: RunId, { evaluation: { suites } }: RunConfig, name: string | undefined) {
  const suite = name === undefined ? suites[0] : suites.find((candidate) => candidate.name === name)
  if (suite !== undefined) return suite
  const names = suites.map((candidate) => candidate.name).join(', ')
  throw new SessionFault(
    'unknown_suite',
    `run ${run} has no suite "${name ?? ''}"; configured: ${names || 'none'}`,
  )
}

/** @throws SessionFault `unknown_version` */
export async function publishedVersion(store: Store, run: RunId): Promise<number> {
  const version = await store.runs.version(run)
  if (version !== undefined) return version
  throw new SessionFault('unknown_version', `run ${run} has not published a version yet; evaluate it later`)
}

/** @throws SessionFault `unknown_suite`, `unknown_version` */
export async function requireSuiteAndVersion(
  place: { readonly home: Home; readonly store: Store },
  { id, config }: { readonly id: RunId; readonly config: RunConfig },
  { suite, version }: { readonly suite?: string | undefined; readonly version?: number | undefined },
): Promise<void> {
  suiteOf(id, config, suite)
  await requireKeptVersion(place, id, version ?? (await publishedVersion(place.store, id)))
}
