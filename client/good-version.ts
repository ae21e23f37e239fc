/**
 * Which version stands for one that is asked for.
 *
 * Invariants
 * - A version whose checkpoint is broken is never used: the newest good one before it is, and that is said.
 * - A version that the run does not keep is refused with those that it keeps; the published one counts as broken where
 *   it is missing.
 */
import type { RunId } from '../identity.ts'
import { latestGoodCheckpoint, publishedVersions } from '../policy/checkpoints/versions.ts'
import type { Home } from '../storage/home.ts'
import type { Store } from '../storage/store.ts'
import { SessionFault } from './session-fault.ts'

interface Dependencies {
  readonly home: Home
  readonly store: Store
  readonly log: (line: string) => void
}

/** Asks for a version. @throws SessionFault `unknown_version` */
export function createGoodVersion({ home, store, log }: Dependencies) {
  return async (run: RunId, version: number): Promise<number> => {
    const { checkpointsDir } = home.run(run)
    const versions = await publishedVersions(checkpointsDir)
    // Checkpoints of another machine are not here to be looked at.
    if (versions.length === 0) return version
    if (!versions.includes(version) && version !== (await store.runs.version(run)))
      throw new SessionFault(
        'unknown_version',
        `run ${run} keeps no version ${version}; it has ${versions.join(', ')}`,
      )
    const { found, refused } = await latestGoodCheckpoint(checkpointsDir, version)
    for (const { fault } of refused) log(fault.message)
    if (found === undefined)
      throw new SessionFault('unknown_version', `run ${run} has no good checkpoint up to version ${version}`)
    if (found.version !== version) log(`version ${found.version} is used in place of ${version}`)
    return found.version
  }
}
