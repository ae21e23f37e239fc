/**
 * The versions of a policy: a folder with one checkpoint per version, named by its number.
 *
 * Invariants
 * - [VERSIONS-1] The latest good checkpoint is complete and valid in every byte; each newer one that was passed over
 *   is reported with its reason. A checkpoint that cannot be read at the moment is not passed over.
 * - [VERSIONS-2] Names that are no version (partial writes, strange files) are never looked at.
 */
import { readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { nameBeside } from '../../machine/processes/partial-file.ts'
import { CheckpointFault, fileFault } from '../files/checkpoint-fault.ts'
import { type CheckpointState, verifyCheckpoint } from './checkpoint.ts'

/** Folder of a version below a run's folder of checkpoints. */
export function checkpointDir(root: string, version: number): string {
  return join(root, String(version))
}

/** A checkpoint that is there but cannot be used. */
interface RefusedCheckpoint {
  readonly version: number
  readonly dir: string
  readonly fault: CheckpointFault
}

/** The result of looking through a folder of checkpoints. */
export interface LatestCheckpoint {
  readonly found:
    | { readonly version: number; readonly dir: string; readonly state: CheckpointState }
    | undefined
  /** Newer ones that were passed over, newest first. */
  readonly refused: readonly RefusedCheckpoint[]
}

/**
 * The newest complete and valid checkpoint of a folder, and why newer ones were passed over.
 * @param atMost the newest version to consider
 * @throws CheckpointFault `io`: the system refused to read, which may pass; a folder that does not exist has no
 *   checkpoints
 */
export async function latestGoodCheckpoint(
  root: string,
  atMost: number = Number.MAX_SAFE_INTEGER,
): Promise<LatestCheckpoint> {
  const refused: RefusedCheckpoint[] = []
  for (const version of (await publishedVersions(root)).reverse()) {
    if (version > atMost) continue
    const dir = checkpointDir(root, version)
    try {
      const state = await verifyCheckpoint(dir)
      if (state.version !== version)
        throw new CheckpointFault('foreign', `checkpoint ${dir}: it says that it is version ${state.version}`)
      return { found: { version, dir, state }, refused }
    } catch (cause) {
      const fault = fileFault(dir, 'verifying it', cause)
      if (!fault.permanent) throw fault
      refused.push({ version, dir, fault })
    }
  }
  return { found: undefined, refused }
}

/** Versions that have a folder below `root`, ascending; complete or not. @throws CheckpointFault `io` */
export async function publishedVersions(root: string): Promise<number[]> {
  let names: string[]
  try {
    names = await readdir(root)
  } catch (cause) {
    const fault = fileFault(root, 'listing checkpoints', cause)
    if (fault.kind === 'missing') return []
    throw fault
  }
  return names
    .filter((name) => /^(0|[1-9]\d{0,14})$/.test(name))
    .map(Number)
    .sort((a, b) => a - b)
}

/**
 * Deletes a version at once: it leaves its name before its files go, so that no half-deleted one is ever there.
 * The remains of a process killed meanwhile are removed as an abandoned write is. A missing version is no error.
 * @throws CheckpointFault `io`
 */
export async function deleteCheckpoint(dir: string): Promise<void> {
  const doomed = nameBeside(dir)
  try {
    await rename(dir, doomed)
    await rm(doomed, { recursive: true, force: true })
  } catch (cause) {
    const fault = fileFault(dir, 'deleting the checkpoint', cause)
    if (fault.kind !== 'missing') throw fault
  }
}
