/**
 * Restoring: an earlier version, with all that its trainer keeps, under a new version number.
 *
 * Invariants
 * - [RESTORE-1] The new number is above the current one, and no checkpoint of other work is overwritten.
 * - [RESTORE-2] Restoring twice gives the same version.
 * - [RESTORE-3] The new version has every file of the earlier one, byte for byte except its own description.
 */

import { CheckpointFault } from '../files/checkpoint-fault.ts'
import {
  type CheckpointContent,
  type CheckpointState,
  readCheckpoint,
  readCheckpointText,
} from './checkpoint.ts'
import { copyCheckpoint } from './copying.ts'
import { checkpointDir } from './versions.ts'

/**
 * @param of.to the version whose weights are wanted
 * @param of.from the current version
 * @returns the number that they got
 * @throws CheckpointFault the wanted version is not there or broken
 */
export async function restoreCheckpoint(
  root: string,
  of: { readonly to: number; readonly from: number },
): Promise<number> {
  const { to, from } = of
  for (let version = from + 1; ; version++) {
    const dir = checkpointDir(root, version)
    const there = await stateAt(dir)
    const { restored, after } = there?.facts ?? {}
    if (restored === to && after === from) return version
    // A trainer that outlived its run may have left an unreported version.
    if (there !== undefined) continue
    await copyCheckpoint(checkpointDir(root, to), dir, (state) => ({
      ...state,
      version,
      facts: { ...state.facts, restored: to, after: from },
    }))
    return version
  }
}

/** A checkpoint with the optimizer's moments, where it has them: a policy that was never trained has none. */
export async function readWithMoments(dir: string): Promise<CheckpointContent> {
  try {
    return await readCheckpoint(dir, { optimizer: true })
  } catch (cause) {
    if (cause instanceof CheckpointFault && cause.kind === 'missing') return readCheckpoint(dir)
    throw cause
  }
}

/** A checkpoint's own description; undefined where there is none, or a broken one. */
async function stateAt(dir: string): Promise<CheckpointState | undefined> {
  try {
    return (await readCheckpointText(dir)).state
  } catch (error) {
    if (!(error instanceof CheckpointFault) || error.kind === 'io') throw error
    return undefined
  }
}
