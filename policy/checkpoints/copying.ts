/**
 * Copies of checkpoints: every file of one, also those that only its trainer knows.
 *
 * Invariants
 * - [COPY-1] A copy has every file that the manifest lists, with the bytes that it lists; only `state.json` may differ.
 * - [COPY-2] A complete checkpoint that is there already is kept, and under its name a copy is whole from the start.
 */
import { constants } from 'node:fs'
import { copyFile, mkdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { nameBeside } from '../../machine/processes/partial-file.ts'
import { writingFault } from '../files/checkpoint-fault.ts'
import { digestFile, writeDurably } from '../files/durable-file.ts'
import { adoptCheckpoint, type CheckpointState, renderState, verifyCheckpoint } from './checkpoint.ts'
import { compareDigest, manifestFile, readManifest, renderManifest } from './manifest.ts'

/**
 * Copies a checkpoint. That of an adapter belongs beside the same base.
 * @param change what the copy says of itself, from what the original says; absent: the same
 * @returns whether this call published it
 * @throws CheckpointFault `missing`, `corrupt`, `io`; the message names the checkpoint
 */
export async function copyCheckpoint(
  from: string,
  dir: string,
  change?: (state: CheckpointState) => CheckpointState,
): Promise<boolean> {
  const state = await verifyCheckpoint(from)
  const manifest = await readManifest(from)
  const target = resolve(dir)
  const partial = nameBeside(target)
  try {
    await mkdir(partial)
    for (const [name, expected] of Object.entries(manifest.files)) {
      const file = join(partial, name)
      // Where the file system can share the bytes, they are not written again.
      await copyFile(join(from, name), file, constants.COPYFILE_FICLONE)
      compareDigest(from, name, expected, await digestFile(file))
    }
    const files = { ...manifest.files }
    if (change !== undefined)
      files['state.json'] = await writeDurably(join(partial, 'state.json'), [
        renderState(change(state), target),
      ])
    await writeDurably(join(partial, manifestFile), [renderManifest({ ...manifest, files })])
    return await adoptCheckpoint(partial, target)
  } catch (cause) {
    throw writingFault(target, 'copying a checkpoint there', cause)
  } finally {
    await rm(partial, { recursive: true, force: true })
  }
}
