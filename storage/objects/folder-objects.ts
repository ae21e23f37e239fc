/**
 * Objects in a folder of this machine: the same contract as S3, for tests and for homes on one disk.
 */
import { link, mkdir, readdir, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { codeOf } from '../../faults/system-error.ts'
import { chance } from '../../machine/services/chance.ts'
import { clock } from '../../machine/services/clock.ts'
import { storageFaultOf } from '../disk/fault.ts'
import { ObjectFault } from './object-fault.ts'
import { arriving, writeObjectFile } from './object-file.ts'
import {
  checkDigest,
  checkKey,
  checkPrefix,
  conflictOf,
  digestOfSource,
  type ListedObject,
  missingOf,
  type ObjectDigest,
  type ObjectSource,
  type ObjectStore,
  sourceReader,
} from './object-store.ts'

/** Bounds the memory of a copy. */
const pieceBytes = 4 * 1024 * 1024

/** @param root is made where it is missing */
export function folderObjects(root: string): ObjectStore {
  const pathOf = (key: string): string => {
    checkKey(key)
    return join(root, key)
  }
  const store: ObjectStore = {
    place: root,
    putOnce: async (key, source) => putFile(pathOf(key), source),
    async get(key, file, expected) {
      const path = pathOf(key)
      return writeObjectFile(
        file,
        arriving(piecesOf(path), (error) => readingFault(path, error)),
        (digest) => checkDigest(path, digest, expected),
      )
    },
    head: async (key) => digestAt(pathOf(key)),
    async list(prefix) {
      checkPrefix(prefix)
      const found: ListedObject[] = []
      await collect(root, prefix, found)
      return found.toSorted((one, other) => (one.key < other.key ? -1 : 1))
    },
    delete: (key) => ofDisk(root, () => rm(pathOf(key), { force: true })),
    async probe() {
      const key = `probe-${chance.uuid()}`
      await store.putOnce(key, new Uint8Array(1))
      await store.delete(key)
    },
    sweep: (olderThanMs) => ofDisk(root, () => removePartial(root, clock.now() - olderThanMs)),
  }
  return store
}

/** A link is made only where its name is free: of many writers one is first. */
async function putFile(path: string, source: ObjectSource): Promise<ObjectDigest> {
  await ofDisk(path, () => mkdir(dirname(path), { recursive: true }))
  return writeObjectFile(
    path,
    piecesOf(source),
    () => undefined,
    async (partial, own) => {
      try {
        await link(partial, path)
      } catch (error) {
        if (codeOf(error) !== 'EEXIST') throw error
        if ((await digestAt(path))?.sha256 !== own.sha256) throw conflictOf(path)
      }
    },
  )
}

async function* piecesOf(source: ObjectSource): AsyncGenerator<Uint8Array> {
  await using reader = await sourceReader(source)
  for (let start = 0; start < reader.size; start += pieceBytes)
    yield await reader.read(start, Math.min(pieceBytes, reader.size - start))
}

function readingFault(path: string, error: unknown): ObjectFault {
  if (error instanceof ObjectFault) return error
  if (codeOf(error) === 'ENOENT') return missingOf(path)
  return new ObjectFault('unavailable', `${path} cannot be read (${codeOf(error) ?? 'unknown'})`, {
    cause: error,
  })
}

async function digestAt(path: string): Promise<ObjectDigest | undefined> {
  try {
    const { size, sha256 } = await digestOfSource(path, () => pieceBytes)
    return { size, sha256 }
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw storageFaultOf(error, path)
  }
}

async function collect(root: string, prefix: string, found: ListedObject[]): Promise<void> {
  for (const entry of await entriesOf(join(root, prefix))) {
    if (entry.name.startsWith('.')) continue
    const key = `${prefix}${entry.name}`
    if (entry.isDirectory()) await collect(root, `${key}/`, found)
    else {
      // Another process may delete it meanwhile.
      const status = await stat(join(root, key)).catch(() => undefined)
      if (status !== undefined) found.push({ key, size: status.size })
    }
  }
}

async function removePartial(folder: string, before: number): Promise<number> {
  let removed = 0
  for (const entry of await entriesOf(folder)) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) removed += await removePartial(path, before)
    else if (/^\..*\.partial$/.test(entry.name)) {
      const status = await stat(path).catch(() => undefined)
      if (status === undefined || status.mtimeMs >= before) continue
      await rm(path, { force: true })
      removed += 1
    }
  }
  return removed
}

async function entriesOf(folder: string) {
  try {
    return await readdir(folder, { withFileTypes: true })
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return []
    throw storageFaultOf(error, folder)
  }
}

async function ofDisk<Result>(path: string, call: () => Promise<Result>): Promise<Result> {
  try {
    return await call()
  } catch (error) {
    throw error instanceof ObjectFault ? error : storageFaultOf(error, path)
  }
}
