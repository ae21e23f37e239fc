/**
 * Files that exist whole or not at all.
 *
 * Invariants
 * - [DURABLE-1] Under its final name a file is complete and on disk: it is written beside, flushed, then renamed.
 * - A writer reports the size and checksum of the very bytes it wrote.
 */
import { createHash } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { flushFolder, nameBeside } from '../../machine/processes/partial-file.ts'
import { CheckpointFault, fileFault, writingFault } from './checkpoint-fault.ts'

/** Size and SHA-256 (lower-case hex) of a file's bytes. */
export interface FileDigest {
  readonly size: number
  readonly sha256: string
}

/** One read or write call at most moves this much: the kernel cuts single calls at 2 GiB. */
const transferBytes = 64 * 1024 * 1024

/**
 * Writes a file whole: beside, flushed, renamed.
 * @throws CheckpointFault `io`
 */
export async function writeDurably(
  file: string,
  parts: readonly (string | NodeJS.ArrayBufferView)[],
): Promise<FileDigest> {
  const partial = nameBeside(file)
  try {
    const digest = await writeParts(partial, parts)
    await rename(partial, file)
    await flushFolder(dirname(file))
    return digest
  } catch (cause) {
    await rm(partial, { force: true })
    throw writingFault(file, 'writing it', cause)
  }
}

/** Writes a new file, flushed. */
async function writeParts(
  file: string,
  parts: readonly (string | NodeJS.ArrayBufferView)[],
): Promise<FileDigest> {
  await using handle = await open(file, 'wx')
  const hash = createHash('sha256')
  let size = 0
  for (const part of parts) {
    const bytes =
      typeof part === 'string'
        ? Buffer.from(part, 'utf8')
        : new Uint8Array(part.buffer, part.byteOffset, part.byteLength)
    hash.update(bytes)
    for (let done = 0; done < bytes.byteLength; ) {
      const length = Math.min(transferBytes, bytes.byteLength - done)
      const { bytesWritten } = await handle.write(bytes, done, length, size + done)
      done += bytesWritten
    }
    size += bytes.byteLength
  }
  await handle.sync()
  return { size, sha256: hash.digest('hex') }
}

/**
 * Reads a whole file into memory of its own, so that typed arrays can be laid over it.
 * @throws CheckpointFault `missing`, `io`, or `corrupt` when the file shrinks while it is read
 */
export async function readWhole(file: string): Promise<Uint8Array<ArrayBuffer>> {
  try {
    await using handle = await open(file, 'r')
    const { size } = await handle.stat()
    const bytes = new Uint8Array(size)
    for (let done = 0; done < size; ) {
      const { bytesRead } = await handle.read(bytes, done, Math.min(transferBytes, size - done), done)
      if (bytesRead === 0)
        throw new CheckpointFault('corrupt', `${file}: ends after ${done} of ${size} bytes`)
      done += bytesRead
    }
    return bytes
  } catch (cause) {
    throw fileFault(file, 'reading it', cause)
  }
}

/** Digest of bytes in memory. */
export function digestOf(bytes: Uint8Array): FileDigest {
  return { size: bytes.byteLength, sha256: createHash('sha256').update(bytes).digest('hex') }
}

/**
 * Digest of a file, read in pieces.
 * @throws CheckpointFault `missing`, `io`
 */
export async function digestFile(file: string): Promise<FileDigest> {
  try {
    await using handle = await open(file, 'r')
    const hash = createHash('sha256')
    const piece = new Uint8Array(4 * 1024 * 1024)
    let size = 0
    for (;;) {
      const { bytesRead } = await handle.read(piece, 0, piece.byteLength, size)
      if (bytesRead === 0) break
      hash.update(piece.subarray(0, bytesRead))
      size += bytesRead
    }
    return { size, sha256: hash.digest('hex') }
  } catch (cause) {
    throw fileFault(file, 'reading it', cause)
  }
}
