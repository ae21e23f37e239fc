/**
 * Pulling a task's official data into a folder.
 *
 * Invariants
 * - A file in place is whole and checked; a pull that was cut off continues where it was.
 * - A file that was pulled and is unchanged is not pulled again.
 * - A file without a pinned hash must have, from the second pull on, the hash of the first.
 * - An archive that cannot be unpacked leaves nothing, its hash included: a good one is taken afterwards.
 * - Two pulls never work in the same folder.
 */
import { copyFile, link, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { codeOf } from '../faults/system-error.ts'
import { makeFolder } from '../machine/files/folder.ts'
import { isAlive, readProcess, thisProcess, writtenProcess } from '../machine/processes/process.ts'
import { unpack } from './archive.ts'
import { type ArchiveSource, type Dataset, type Source, usualLargest } from './catalogue.ts'
import {
  type Download,
  type Downloaded,
  type DownloadOptions,
  download,
  type Retries,
  sha256Of,
  tooLarge,
} from './download.ts'
import { DataFault, writingFault } from './fault.ts'
import { type DataRecord, readRecord, writeRecord } from './record.ts'

/** How far a pull is. */
export interface PullProgress {
  readonly task: string
  /** File in progress. */
  readonly path: string
  readonly step: 'there' | 'downloading' | 'unpacking'
  /** Sources that are done, of all. */
  readonly done: number
  readonly all: number
  /** Bytes of the file, or files unpacked. */
  readonly received: number
  readonly total?: number | undefined
}

export interface PullOptions extends Origin {
  readonly retries?: Retries
  readonly signal?: AbortSignal | undefined
  onProgress?(progress: PullProgress): void
}

/** The result of a pull in a folder. */
export interface Pulled {
  readonly task: string
  readonly folder: string
  readonly files: number
  readonly bytes: number
  /** Sources that came now; the others were there. */
  readonly came: number
  /** Sources without a pinned hash: the hash of this pull is trusted from here on. */
  readonly unpinned: readonly string[]
}

/** Where data is pulled from; its publishers by default. */
export interface Origin {
  /** Base URL of a mirror. */
  readonly mirror?: string | undefined
  /** Folder with files that were brought here. */
  readonly from?: string | undefined
}

/** Pulls a task's data. @throws DataFault */
export async function pull(dataset: Dataset, folder: string, options: PullOptions = {}): Promise<Pulled> {
  try {
    makeFolder(folder)
    const release = await lock(folder)
    try {
      return await pullInto(dataset, folder, options)
    } finally {
      await release()
    }
  } catch (cause) {
    throw writingFault(cause, folder)
  }
}

async function pullInto(dataset: Dataset, folder: string, options: PullOptions): Promise<Pulled> {
  const { task, version, licence, sources } = dataset
  const before = await readRecord(folder)
  let record: DataRecord = {
    task,
    version,
    licence,
    complete: false,
    updated: new Date().toISOString(),
    sources: before?.version === version ? before.sources : {},
    files: before?.version === version ? before.files : {},
  }
  let came = 0
  const all = sources.length
  for (const [done, source] of sources.entries()) {
    const report = (step: PullProgress['step'], received: number, total?: number) =>
      options.onProgress?.({ task, path: source.path, step, done, all, received, total })
    if (await isThere(source, folder, record)) {
      report('there', 0)
      continue
    }
    const file = path.join(folder, source.path)
    const { mirror, from, retries, signal } = options
    const downloaded = await obtain(task, source, file, record, {
      ...{ mirror, from, signal },
      ...(retries === undefined ? {} : { retries }),
      onProgress: (received, total) => report('downloading', received, total),
    })
    record = withSource(record, source, downloaded)
    if (source.kind === 'archive') {
      // From here on the archive is known, and unpacking may be cut off.
      await writeRecord(folder, record)
      try {
        const files = await unpackInPlace(source, file, folder, signal, (count) => report('unpacking', count))
        record = { ...record, files: { ...record.files, ...files } }
      } catch (cause) {
        if (cause instanceof DataFault && cause.kind === 'bad_archive') await forget(record, source, folder)
        throw cause
      }
      await rm(file)
    } else record = { ...record, files: { ...record.files, [source.path]: downloaded.bytes } }
    await writeRecord(folder, record)
    came += 1
  }
  record = { ...record, complete: true, updated: new Date().toISOString() }
  await writeRecord(folder, record)
  const sizes = Object.values(record.files)
  return {
    task,
    folder,
    files: sizes.length,
    bytes: sizes.reduce((sum, size) => sum + size, 0),
    came,
    unpinned: Object.entries(record.sources).flatMap(([name, { pinned }]) => (pinned ? [] : [name])),
  }
}

/** Forgets an unusable source: its hash is no measure for the next pull. */
async function forget(record: DataRecord, source: Source, folder: string): Promise<void> {
  const { [source.path]: _, ...sources } = record.sources
  await rm(path.join(folder, source.path), { force: true })
  await writeRecord(folder, { ...record, sources })
}

function withSource(record: DataRecord, source: Source, { sha256, address }: Downloaded): DataRecord {
  const known = { sha256, pinned: source.sha256 !== undefined, address }
  return { ...record, sources: { ...record.sources, [source.path]: known } }
}

/** True where what the source gives is in the folder, and is what came from it. */
async function isThere(source: Source, folder: string, { sources, files }: DataRecord): Promise<boolean> {
  const known = sources[source.path]
  if (known === undefined || (source.sha256 !== undefined && source.sha256 !== known.sha256)) return false
  if (source.kind === 'file') {
    const found = await sha256Of(path.join(folder, source.path)).catch(() => undefined)
    return found === known.sha256
  }
  const own = Object.entries(files).filter(([place]) => source.owns(place))
  const whole = await Promise.all(
    own.map(async ([place, size]) => {
      const found = await stat(path.join(folder, place)).catch(() => undefined)
      return found?.size === size
    }),
  )
  return whole.length > 0 && whole.every((each) => each)
}

/** The file of a source, downloaded or copied, and checked. */
async function obtain(
  task: string,
  source: Source,
  file: string,
  record: DataRecord,
  options: Origin & DownloadOptions,
): Promise<Downloaded> {
  const sha256 = source.sha256 ?? record.sources[source.path]?.sha256
  const found = await stat(file).catch(() => undefined)
  // Put in place by a pull that was cut off right after.
  if (found?.isFile() === true && sha256 !== undefined && (await sha256Of(file)) === sha256)
    return { address: record.sources[source.path]?.address ?? '', bytes: found.size, sha256 }
  const addresses = locationsOf(task, source, options)
  const wanted = { addresses, file, sha256, begins: source.begins, largest: source.largest ?? usualLargest }
  if (options.from === undefined) return download(wanted, options)
  return copyFrom(wanted, options.from)
}

async function copyFrom({ addresses, file, sha256, largest }: Download, from: string): Promise<Downloaded> {
  for (const address of addresses) {
    const source = fileURLToPath(address)
    const found = await stat(source).catch(() => undefined)
    if (found?.isFile() !== true) continue
    if (found.size > largest) throw tooLarge(source, largest)
    makeFolder(path.dirname(file))
    await copyFile(source, `${file}.part`)
    const copied = await sha256Of(`${file}.part`)
    if (sha256 !== undefined && copied !== sha256) {
      await rm(`${file}.part`)
      throw new DataFault(
        'wrong_content',
        `${source} is not what was published: its SHA-256 is ${copied}, expected ${sha256}`,
      )
    }
    await rename(`${file}.part`, file)
    return { address, bytes: found.size, sha256: copied }
  }
  throw new DataFault(
    'not_found',
    `${path.basename(file)} is not in ${from}; looked for ${addresses.map((each) => fileURLToPath(each)).join(', ')}`,
  )
}

/** Unpacks beside, then moves each file to its place. @returns bytes by path */
async function unpackInPlace(
  source: ArchiveSource,
  archive: string,
  folder: string,
  signal: AbortSignal | undefined,
  onProgress: (files: number) => void,
): Promise<Record<string, number>> {
  const beside = path.join(folder, '.unpacking')
  await rm(beside, { recursive: true, force: true })
  await mkdir(beside)
  try {
    const places = await unpack(archive, beside, (entry) => source.target(entry), {
      largest: source.largestUnpacked ?? 16 * usualLargest,
      signal,
      onProgress,
    })
    if (places.length === 0)
      throw new DataFault('bad_archive', `${archive} holds nothing of what was expected in it`)
    const sizes: Record<string, number> = {}
    for (const place of places) {
      const file = path.join(folder, place)
      makeFolder(path.dirname(file))
      await rename(path.join(beside, place), file)
      sizes[place] = (await stat(file)).size
    }
    return sizes
  } finally {
    await rm(beside, { recursive: true, force: true })
  }
}

/** Takes the folder for this process. @returns how to give it back */
async function lock(folder: string): Promise<() => Promise<void>> {
  const file = path.join(folder, '.pulling')
  const self = writtenProcess(thisProcess())
  const own = `${file}.${self}`
  await writeFile(own, self)
  try {
    for (;;) {
      try {
        // A link shows the file with its content at once, or fails.
        await link(own, file)
        return () => rm(file, { force: true })
      } catch (cause) {
        if (codeOf(cause) !== 'EEXIST') throw cause
        const owner = readProcess(await readFile(file, 'utf8').catch(() => ''))
        const alive = owner === undefined ? false : isAlive(owner)
        if (owner !== undefined && alive !== false)
          throw new DataFault(
            'not_writable',
            alive
              ? `process ${owner.pid} is pulling into ${folder}; wait for it or end it`
              : `process ${owner.pid} of another container is pulling into ${folder}; wait for it, or remove ${file} if that container is gone`,
          )
        await rm(file, { force: true })
      }
    }
  } finally {
    await rm(own, { force: true })
  }
}

/** Addresses of a source in the order in which they are tried; of files in a folder, `file:` URLs. */
export function locationsOf(task: string, source: Source, { mirror, from }: Origin): readonly string[] {
  if (mirror === undefined && from === undefined) return source.addresses
  const base = mirror ?? pathToFileURL(path.resolve(from ?? '.')).href
  const places = [
    ...source.addresses.flatMap((address) => {
      const { host, pathname, search } = new URL(address)
      // A query names no file in a folder.
      if (search !== '' && mirror === undefined) return []
      return [`${host}${pathname}${search}`, `${pathname.slice(1)}${search}`]
    }),
    ...[`${task}/${source.path}`, source.path, path.posix.basename(source.path)].map((place) =>
      place.split('/').map(encodeURIComponent).join('/'),
    ),
  ]
  return [...new Set(places)].map((place) => `${base.replace(/\/+$/, '')}/${place}`)
}
