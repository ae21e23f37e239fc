/**
 * The file that an object is read into.
 *
 * Invariants
 * - It is written beside the target, compared with the digest that is expected, flushed, and only then renamed.
 */
import { createHash } from 'node:crypto'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { flushFolder, nameBeside } from '../../machine/processes/partial-file.ts'
import { storageFaultOf } from '../disk/fault.ts'
import { ObjectFault } from './object-fault.ts'
import type { ObjectDigest } from './object-store.ts'

/**
 * @param check throws where the digest is not the expected one
 * @param settle makes the finished file the target; a rename where nothing else is said
 * @throws StorageFault of the disk, and whatever the pieces or the check throw as an ObjectFault
 */
export async function writeObjectFile(
  file: string,
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  check: (digest: ObjectDigest) => void,
  settle: (partial: string, digest: ObjectDigest) => Promise<void> = (partial) => rename(partial, file),
): Promise<ObjectDigest> {
  const partial = nameBeside(file)
  try {
    await mkdir(dirname(file), { recursive: true })
    const digest = await writePieces(partial, pieces)
    check(digest)
    await settle(partial, digest)
    await flushFolder(dirname(file))
    return digest
  } catch (error) {
    throw error instanceof ObjectFault ? error : storageFaultOf(error, file)
  } finally {
    // Renamed, it is gone.
    await rm(partial, { force: true })
  }
}

async function writePieces(
  file: string,
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<ObjectDigest> {
  await using handle = await open(file, 'wx')
  const hash = createHash('sha256')
  let size = 0
  for await (const piece of pieces) {
    hash.update(piece)
    for (let done = 0; done < piece.byteLength; ) {
      const { bytesWritten } = await handle.write(piece, done, piece.byteLength - done, size + done)
      done += bytesWritten
    }
    size += piece.byteLength
  }
  await handle.sync()
  return { size, sha256: hash.digest('hex') }
}

/** Turns what goes wrong while pieces arrive into a fault, so that it is not taken for one of the disk. */
export async function* arriving(
  pieces: AsyncIterable<Uint8Array>,
  faultOf: (error: unknown) => ObjectFault,
): AsyncGenerator<Uint8Array> {
  try {
    yield* pieces
  } catch (error) {
    throw faultOf(error)
  }
}
