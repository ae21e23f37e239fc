/**
 * Disk use of a run, by kind.
 *
 * Invariants
 * - Only looks. Trajectories count as what their texts and tokens weigh, without the store's own share.
 */
import type { RunId } from '../identity/identity.ts'
import { bytesAt } from './disk/disk-use.ts'
import type { Home } from './disk/home.ts'
import type { Store } from './store.ts'

/** Bytes. */
export interface RunDisk {
  readonly checkpoints: number
  readonly batches: number
  /** In the store, of all episodes that still have theirs. */
  readonly trajectories: number
  readonly other: number
}

/** @throws StorageFault */
export async function runDisk(home: Home, store: Pick<Store, 'holdings'>, run: RunId): Promise<RunDisk> {
  const { dir, checkpointsDir, batchesDir } = home.run(run)
  const [all, checkpoints, batches] = await Promise.all([dir, checkpointsDir, batchesDir].map(bytesAt))
  const held = await store.holdings.trajectories(run)
  return {
    checkpoints: checkpoints ?? 0,
    batches: batches ?? 0,
    trajectories: held.reduce((sum, holding) => sum + holding.bytes, 0),
    other: (all ?? 0) - (checkpoints ?? 0) - (batches ?? 0),
  }
}
