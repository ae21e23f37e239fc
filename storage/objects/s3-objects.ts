/**
 * Objects in a bucket of S3, or of a server that speaks its language.
 *
 * Invariants
 * - [S3-1] The SHA-256 of each object and part is sent with it, and the server refuses other bytes.
 * - [S3-2] A key is written under `If-None-Match: *` alone. Where it is taken, the digests decide: equal content is success, also after an
 *   answer was lost.
 * - [S3-3] A file of 16 MB or more is sent in parts. An upload that ends early is aborted; the parts of a killed process are swept.
 * - [S3-4] A server that ignores the condition or the checksums is refused by the probe.
 */
import { chance } from '../../machine/services/chance.ts'
import { clock } from '../../machine/services/clock.ts'
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
import type { ObjectsAddress } from './objects-address.ts'
import {
  isMissing,
  isRefusedContent,
  isTaken,
  type OpenedClient,
  objectFaultOf,
  openS3Client,
} from './s3-client.ts'
import { type Bucket, digestHeader, putInParts, sweepUploads } from './s3-upload.ts'

/** From here on a file is sent in parts. */
const multipartBytes = 16 * 1024 * 1024

/** Parts of this size keep memory small; at most 10,000 are allowed, of at least 5 MiB. */
const usualPartBytes = 8 * 1024 * 1024
const mostParts = 10_000

/** @throws ObjectFault `not_installed` */
export async function s3Objects(address: ObjectsAddress, opened?: OpenedClient): Promise<ObjectStore> {
  const bucket: Bucket = { ...(opened ?? (await openS3Client())), ...address }
  const place = placeOf(bucket, '')
  const store: ObjectStore = {
    place,
    async putOnce(key, source) {
      checkKey(key)
      const digest = await digestOfSource(source, partBytesOf)
      const isLarge = digest.size >= multipartBytes
      // A retry does not send a large file again.
      const isThere = isLarge && (await store.head(key)) !== undefined
      const isFirst =
        !isThere &&
        (await putWith(bucket, key, () =>
          isLarge ? putInParts(bucket, key, source, digest) : putWhole(bucket, key, source, digest),
        ))
      return settle(store, bucket, key, digest, isFirst)
    },
    get: (key, file, expected) => readInto(bucket, key, file, expected),
    head: (key) => headOf(bucket, key),
    list: (prefix) => listOf(bucket, prefix),
    async delete(key) {
      checkKey(key)
      await asking(bucket, key, ({ s3, client }) =>
        client.send(new s3.DeleteObjectCommand({ Bucket: bucket.bucket, Key: bucket.prefix + key })),
      )
    },
    probe: () => probe(store, bucket),
    sweep: (olderThanMs) =>
      asking(bucket, '', () => sweepUploads(bucket, new Date(clock.now() - olderThanMs))),
  }
  return store
}

function partBytesOf(size: number): number {
  if (size < multipartBytes) return Math.max(size, 1)
  return Math.max(usualPartBytes, Math.ceil(size / mostParts))
}

function placeOf({ bucket, prefix }: ObjectsAddress, key: string): string {
  return `s3://${bucket}/${prefix}${key}`
}

async function asking<Result>(
  bucket: Bucket,
  key: string,
  ask: (bucket: Bucket) => Promise<Result>,
): Promise<Result> {
  try {
    return await ask(bucket)
  } catch (error) {
    throw objectFaultOf(error, placeOf(bucket, key))
  }
}

/** @returns false where the key is taken */
async function putWith(bucket: Bucket, key: string, put: () => Promise<unknown>): Promise<boolean> {
  try {
    await put()
    return true
  } catch (error) {
    if (isTaken(error)) return false
    throw objectFaultOf(error, placeOf(bucket, key))
  }
}

async function settle(
  store: ObjectStore,
  bucket: Bucket,
  key: string,
  { size, sha256 }: ObjectDigest,
  isFirst: boolean,
): Promise<ObjectDigest> {
  if (isFirst) return { size, sha256 }
  const first = await store.head(key)
  if (first === undefined)
    throw new ObjectFault('unavailable', `${placeOf(bucket, key)} was deleted while it was put; try again`)
  if (first.sha256 !== sha256) throw conflictOf(placeOf(bucket, key))
  return { size, sha256 }
}

async function putWhole(
  { s3, client, bucket, prefix }: Bucket,
  key: string,
  source: ObjectSource,
  { size, sha256 }: ObjectDigest,
): Promise<void> {
  await using reader = await sourceReader(source)
  await client.send(
    new s3.PutObjectCommand({
      Bucket: bucket,
      Key: prefix + key,
      Body: size === 0 ? new Uint8Array() : await reader.read(0, size),
      ContentLength: size,
      IfNoneMatch: '*',
      ChecksumSHA256: Buffer.from(sha256, 'hex').toString('base64'),
      Metadata: { [digestHeader]: sha256 },
    }),
  )
}

async function readInto(
  bucket: Bucket,
  key: string,
  file: string,
  expected: ObjectDigest | undefined,
): Promise<ObjectDigest> {
  checkKey(key)
  const { s3, client } = bucket
  const place = placeOf(bucket, key)
  const answer = await client
    .send(new s3.GetObjectCommand({ Bucket: bucket.bucket, Key: bucket.prefix + key }))
    .catch((error: unknown) => {
      throw isMissing(error) ? missingOf(place) : objectFaultOf(error, place)
    })
  const put = digestFrom(place, answer)
  const pieces = arriving(answer.Body as AsyncIterable<Uint8Array>, (error) => objectFaultOf(error, place))
  return writeObjectFile(file, pieces, (digest) => {
    checkDigest(place, digest, put)
    checkDigest(place, digest, expected)
  })
}

async function headOf(bucket: Bucket, key: string): Promise<ObjectDigest | undefined> {
  checkKey(key)
  const { s3, client } = bucket
  const place = placeOf(bucket, key)
  try {
    const answer = await client.send(
      new s3.HeadObjectCommand({ Bucket: bucket.bucket, Key: bucket.prefix + key }),
    )
    return digestFrom(place, answer)
  } catch (error) {
    if (isMissing(error)) return undefined
    throw objectFaultOf(error, place)
  }
}

interface Described {
  readonly ContentLength?: number | undefined
  readonly Metadata?: Readonly<Record<string, string>> | undefined
}

/** @throws ObjectFault `corrupt` where something else has put the object */
function digestFrom(place: string, { ContentLength: size, Metadata }: Described): ObjectDigest {
  const sha256 = Metadata?.[digestHeader]
  if (size === undefined || sha256 === undefined || !/^[0-9a-f]{64}$/.test(sha256))
    throw new ObjectFault(
      'corrupt',
      `${place} has no SHA-256 in its metadata: another program has put it, or copied it without its metadata`,
    )
  return { size, sha256 }
}

async function listOf(bucket: Bucket, prefix: string): Promise<readonly ListedObject[]> {
  checkPrefix(prefix)
  const { s3, client } = bucket
  const found: ListedObject[] = []
  let token: string | undefined
  do {
    const page = await asking(bucket, prefix, () =>
      client.send(
        new s3.ListObjectsV2Command({
          Bucket: bucket.bucket,
          Prefix: bucket.prefix + prefix,
          ...(token === undefined ? {} : { ContinuationToken: token }),
        }),
      ),
    )
    for (const { Key: key, Size: size } of page.Contents ?? [])
      if (key !== undefined && !key.endsWith('/'))
        found.push({ key: key.slice(bucket.prefix.length), size: size ?? 0 })
    token = page.IsTruncated === true ? page.NextContinuationToken : undefined
  } while (token !== undefined)
  return found.toSorted((one, other) => (one.key < other.key ? -1 : 1))
}

/** Its keys are drawn, so that machines may probe side by side. */
async function probe(store: ObjectStore, bucket: Bucket): Promise<void> {
  const key = `probe-${chance.uuid()}`
  const damagedKey = `${key}-damaged`
  const [bytes, others] = [new Uint8Array(1), new Uint8Array(2)]
  await store.list(`${key}/`)
  const digest = await store.putOnce(key, bytes)
  try {
    const otherDigest = await digestOfSource(others, () => 2)
    const refusals = [
      ['If-None-Match on PutObject', () => putWhole(bucket, key, others, otherDigest), isTaken],
      [
        'If-None-Match on CompleteMultipartUpload',
        () => putInParts(bucket, key, others, otherDigest),
        isTaken,
      ],
      [
        'x-amz-checksum-sha256 on PutObject',
        () => putWhole(bucket, damagedKey, others, { ...digest, size: 2 }),
        isRefusedContent,
      ],
    ] as const
    for (const [name, put, isRefusal] of refusals)
      if (!(await isRefused(bucket, put, isRefusal)))
        throw new ObjectFault(
          'unsupported',
          `${store.place}: the server ignores ${name}, so objects would not be safe there; use one that supports it`,
        )
  } finally {
    await store.delete(key)
    await store.delete(damagedKey)
  }
}

async function isRefused(
  bucket: Bucket,
  put: () => Promise<unknown>,
  isRefusal: (error: unknown) => boolean,
): Promise<boolean> {
  try {
    await put()
    return false
  } catch (error) {
    if (isRefusal(error)) return true
    throw objectFaultOf(error, placeOf(bucket, ''))
  }
}
