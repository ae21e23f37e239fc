/**
 * The store of objects: files of a home under keys that equal their paths, in a folder or a bucket of S3. Each is put once, whole.
 *
 * Invariants, for each implementation (`object-store.testing.ts` is their contract)
 * - [OBJECT-1] An object exists whole or not at all, and of many writers of a key one is first.
 *   Putting equal content succeeds, putting other content is a `conflict`, and the first content stays.
 * - [OBJECT-2] Under the target's name a read file is whole and has the digest that was put, and the one that the caller expects.
 * - [OBJECT-3] The remains of an upload are never taken for an object. A sweep removes them once they are older than a bound.
 * - [OBJECT-4] A key never leads out of the store.
 */
import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { ObjectFault } from './object-fault.ts'

/** Size and SHA-256 (lower-case hex) of the bytes of an object. */
export interface ObjectDigest {
  readonly size: number
  readonly sha256: string
}

export interface ListedObject {
  readonly key: string
  readonly size: number
}

/** Bytes in memory, or a file by its path. */
export type ObjectSource = Uint8Array | string

export interface ObjectStore {
  /** As a person would name it; without secrets. */
  readonly place: string
  /** @throws ObjectFault `conflict` where the key holds other content */
  putOnce(key: string, source: ObjectSource): Promise<ObjectDigest>
  /** Writes the object to a file. @throws ObjectFault `missing`, `corrupt` */
  get(key: string, file: string, expected?: ObjectDigest): Promise<ObjectDigest>
  head(key: string): Promise<ObjectDigest | undefined>
  /** @param prefix of keys: a folder with its slash, or nothing for all. @returns them in the order of their keys */
  list(prefix: string): Promise<readonly ListedObject[]>
  /** A key without an object is no error. */
  delete(key: string): Promise<void>
  /** Tries what the store needs, and removes what it has put. @throws ObjectFault that names what is missing */
  probe(): Promise<void>
  /** Removes what ended writers left, if it is older. @returns how many uploads */
  sweep(olderThanMs: number): Promise<number>
}

/** Hidden names belong to files in progress; S3 allows 1,024 bytes, a prefix included. */
const keyPattern = /^(?=.{1,700}$)[A-Za-z0-9_][\w.@=+-]*(?:\/[A-Za-z0-9_][\w.@=+-]*)*$/

/** @throws ObjectFault `bad_key` */
export function checkKey(key: string): void {
  if (!keyPattern.test(key))
    throw new ObjectFault(
      'bad_key',
      `${JSON.stringify(key.slice(0, 100))} is no key of an object: it needs names of letters, digits and . _ - @ = + between slashes, and at most 700 of them`,
    )
}

/** @throws ObjectFault `bad_key` */
export function checkPrefix(prefix: string): void {
  if (prefix === '') return
  if (!prefix.endsWith('/'))
    throw new ObjectFault(
      'bad_key',
      `${JSON.stringify(prefix.slice(0, 100))} is no prefix: it must end with /`,
    )
  checkKey(prefix.slice(0, -1))
}

/** @throws ObjectFault `corrupt` */
export function checkDigest(subject: string, got: ObjectDigest, expected: ObjectDigest | undefined): void {
  if (expected === undefined || (got.sha256 === expected.sha256 && got.size === expected.size)) return
  throw new ObjectFault(
    'corrupt',
    `${subject}: ${got.size} bytes with SHA-256 ${got.sha256} came, expected are ${expected.size} with ${expected.sha256}`,
  )
}

export function conflictOf(subject: string): ObjectFault {
  return new ObjectFault(
    'conflict',
    `${subject} holds other content already, and an object is put once: does another home use this place?`,
  )
}

export function missingOf(subject: string): ObjectFault {
  return new ObjectFault('missing', `${subject} does not exist`)
}

/** A part of a source, with the digest of its own. */
export interface SourcePart {
  readonly start: number
  readonly size: number
  readonly sha256: Buffer
}

/** The digest of a source and of its parts, read once. @throws errors of the file system */
export async function digestOfSource(
  source: ObjectSource,
  partBytes: (size: number) => number,
): Promise<ObjectDigest & { readonly parts: readonly SourcePart[] }> {
  await using reader = await sourceReader(source)
  const whole = createHash('sha256')
  const parts: SourcePart[] = []
  const step = partBytes(reader.size)
  for (let start = 0; start < reader.size; start += step) {
    const size = Math.min(step, reader.size - start)
    const bytes = await reader.read(start, size)
    whole.update(bytes)
    parts.push({ start, size, sha256: createHash('sha256').update(bytes).digest() })
  }
  return { size: reader.size, sha256: whole.digest('hex'), parts }
}

export interface SourceReader extends AsyncDisposable {
  readonly size: number
  /** @throws ObjectFault `damaged_upload` where the file has become shorter */
  read(start: number, size: number): Promise<Uint8Array>
}

export async function sourceReader(source: ObjectSource): Promise<SourceReader> {
  if (typeof source !== 'string')
    return {
      size: source.byteLength,
      read: async (start, size) => source.subarray(start, start + size),
      [Symbol.asyncDispose]: async () => undefined,
    }
  const handle = await open(source, 'r')
  const { size: whole } = await handle.stat()
  return {
    size: whole,
    async read(start, size) {
      const bytes = Buffer.allocUnsafeSlow(size)
      for (let done = 0; done < size; ) {
        const { bytesRead } = await handle.read(bytes, done, size - done, start + done)
        if (bytesRead === 0)
          throw new ObjectFault('damaged_upload', `${source} became shorter while it was read`)
        done += bytesRead
      }
      return bytes
    },
    [Symbol.asyncDispose]: () => handle.close(),
  }
}
