/**
 * Checkpoints that no work in the store led to: what a trainer wrote before a store of an earlier moment was put back.
 *
 * Invariants
 * - [DISCARDED-1] A checkpoint that the store knows of stays. Newer ones are moved aside and not deleted: a version that is
 *   trained again must not be found as it was, because it may follow from other groups.
 */

import type { StoredCourse } from '../../contract/training-state.ts'
import { publishedVersions } from '../../policy/checkpoints/versions.ts'
import { moveAside } from '../../storage/disk/aside.ts'
import type { Home } from '../../storage/disk/home.ts'
import type { Store } from '../../storage/store.ts'

/** @throws StorageFault, CheckpointFault */
export async function discardCheckpoints(
  home: Home,
  store: Pick<Store, 'updates'>,
  { run, state }: Pick<StoredCourse, 'run' | 'state'>,
): Promise<void> {
  const { checkpointsDir, checkpointDir } = home.run(run)
  const newest = Math.max(state?.version ?? 0, (await store.updates.latest(run))?.version ?? 0)
  for (const version of await publishedVersions(checkpointsDir))
    if (version > newest) moveAside(home, checkpointDir(version), `${run}-checkpoint-${version}`)
}
