/**
 * Unpacking zip archives from the network.
 *
 * Invariants
 * - Nothing is written outside of the folder: absolute paths, `..`, links and devices are refused.
 * - An archive that unpacks to more than a bound, or to more than the disk has, is refused before or while it is written.
 * - A file whose checksum is not the archive's is refused.
 */
import { createWriteStream } from 'node:fs'
import { statfs } from 'node:fs/promises'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { crc32 } from 'node:zlib'
import yauzl from 'yauzl'
import { makeFolder } from '../machine/files/folder.ts'
import { DataFault, writingFault } from './fault.ts'

/** Files of an archive; the largest of the catalogue has a tenth of them. */
const mostFiles = 200_000

/**
 * Unpacks entries of an archive.
 * @param target where an entry goes below the folder; undefined for what is not taken
 * @returns paths of the files, relative to the folder
 * @throws DataFault
 */
export async function unpack(
  archive: string,
  folder: string,
  target: (entry: string) => string | undefined,
  options: {
    /** Bytes of all entries together. */
    readonly largest: number
    readonly signal?: AbortSignal | undefined
    onProgress?(files: number): void
  },
): Promise<string[]> {
  const zip = await yauzl.openPromise(archive).catch((cause: unknown) => {
    throw new DataFault('bad_archive', `${archive} is no zip archive`, { cause })
  })
  const files: string[] = []
  let unpacked = 0
  try {
    const { bavail, bsize } = await statfs(path.dirname(folder))
    for await (const entry of zip.eachEntry()) {
      options.signal?.throwIfAborted()
      const name = entry.fileName
      if (name.endsWith('/')) continue
      const place = target(name)
      if (place === undefined) continue
      if (isUnsafe(entry) || leaves(place))
        throw new DataFault(
          'bad_archive',
          `${archive} holds ${JSON.stringify(name)}, which must not be unpacked`,
        )
      unpacked += entry.uncompressedSize
      if (unpacked > options.largest)
        throw new DataFault('bad_archive', `${archive} unpacks to more than ${options.largest} bytes`)
      if (files.length >= mostFiles)
        throw new DataFault('bad_archive', `${archive} unpacks to more than ${mostFiles} files`)
      if (unpacked > bavail * bsize)
        throw new DataFault('not_writable', `${folder}: there is no room on the disk for ${archive}`)
      const file = path.join(folder, place)
      makeFolder(path.dirname(file))
      let checksum = 0
      async function* checked(chunks: AsyncIterable<Buffer>) {
        for await (const chunk of chunks) {
          checksum = crc32(chunk, checksum)
          yield chunk
        }
      }
      await pipeline(await zip.openReadStreamPromise(entry), checked, createWriteStream(file))
      if (checksum !== entry.crc32)
        throw new DataFault('bad_archive', `${archive}: the checksum of ${JSON.stringify(name)} is wrong`)
      files.push(place)
      options.onProgress?.(files.length)
    }
  } catch (cause) {
    const fault = writingFault(cause, folder)
    if (fault instanceof DataFault || options.signal?.aborted === true) throw fault
    throw new DataFault('bad_archive', `${archive} cannot be unpacked: ${String(cause)}`, { cause })
  } finally {
    zip.close()
  }
  return files
}

function isUnsafe(entry: yauzl.Entry): boolean {
  // The upper half of the attributes is the mode that Unix gives a file; 0 where another system made the archive.
  const type = (entry.externalFileAttributes >>> 28) & 0xf
  const regular = 0x8
  return (type !== 0 && type !== regular) || yauzl.validateFileName(entry.fileName) !== null
}

function leaves(place: string): boolean {
  return path.isAbsolute(place) || path.normalize(place).split(path.sep).includes('..')
}
