/** Git LFS pointers: small texts that stand in a clone for files that were not downloaded. */
import { CheckpointFault } from './checkpoint-fault.ts'

const opening = Buffer.from('version https://git-lfs.github.com/spec/')

/** @param bytes of the file, from its beginning @throws CheckpointFault `foreign` */
export function refuseLfsPointer(bytes: Uint8Array, file: string): void {
  if (opening.equals(bytes.subarray(0, opening.length)))
    throw new CheckpointFault(
      'foreign',
      `${file} is a Git LFS pointer, not the file itself: run \`git lfs pull\` in its folder`,
    )
}
