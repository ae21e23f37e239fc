/**
 * Uploads in parts: how a large file gets into a bucket, and what is done about uploads that ended early.
 *
 * Invariants
 * - Parts are sent with the checksums of one reading, and the whole with its digest: a file that changes meanwhile is refused.
 * - Memory is bounded by the parts that are sent at once.
 */
import type { ObjectDigest, ObjectSource, SourcePart } from './object-store.ts'
import { sourceReader } from './object-store.ts'
import type { ObjectsAddress } from './objects-address.ts'
import { isMissing, type OpenedClient } from './s3-client.ts'

export interface Bucket extends OpenedClient, ObjectsAddress {}

/** The metadata that holds the SHA-256 of the whole: for parts, S3 keeps only a checksum of their checksums. */
export const digestHeader = 'perdure-sha256'

/** One connection rarely fills a link. */
const partsAtOnce = 4

interface SentPart {
  readonly PartNumber: number
  readonly ETag: string | undefined
  readonly ChecksumSHA256: string
}

/** @throws errors of the SDK; 412 where the key is taken */
export async function putInParts(
  bucket: Bucket,
  key: string,
  source: ObjectSource,
  { sha256, parts }: ObjectDigest & { readonly parts: readonly SourcePart[] },
): Promise<void> {
  const { s3, client } = bucket
  const target = { Bucket: bucket.bucket, Key: bucket.prefix + key }
  const { UploadId } = await client.send(
    new s3.CreateMultipartUploadCommand({
      ...target,
      ChecksumAlgorithm: 'SHA256',
      Metadata: { [digestHeader]: sha256 },
    }),
  )
  const upload = { ...target, UploadId }
  try {
    const sent = await sendParts(bucket, upload, source, parts)
    await client.send(
      new s3.CompleteMultipartUploadCommand({
        ...upload,
        IfNoneMatch: '*',
        MultipartUpload: { Parts: sent },
      }),
    )
  } catch (error) {
    // Where the abort fails too, a sweep finds the upload.
    await client.send(new s3.AbortMultipartUploadCommand(upload)).catch(() => undefined)
    throw error
  }
}

async function sendParts(
  { s3, client }: Bucket,
  upload: { readonly Bucket: string; readonly Key: string; readonly UploadId: string | undefined },
  source: ObjectSource,
  parts: readonly SourcePart[],
): Promise<SentPart[]> {
  await using reader = await sourceReader(source)
  const sent: SentPart[] = []
  const stop = new AbortController()
  const waiting = parts.entries()
  async function sendNext(): Promise<void> {
    for (const [index, { start, size, sha256 }] of waiting) {
      stop.signal.throwIfAborted()
      const ChecksumSHA256 = sha256.toString('base64')
      const { ETag } = await client.send(
        new s3.UploadPartCommand({
          ...upload,
          PartNumber: index + 1,
          Body: await reader.read(start, size),
          ContentLength: size,
          ChecksumSHA256,
        }),
        { abortSignal: stop.signal },
      )
      sent[index] = { PartNumber: index + 1, ETag, ChecksumSHA256 }
    }
  }
  let failure: { readonly error: unknown } | undefined
  const senders = Array.from({ length: partsAtOnce }, () =>
    sendNext().catch((error: unknown) => {
      failure ??= { error }
      stop.abort()
    }),
  )
  // All have ended before the upload is aborted: a part that arrives later would stay.
  await Promise.all(senders)
  if (failure !== undefined) throw failure.error
  return sent
}

/** Aborts uploads that began before a moment. @returns how many */
export async function sweepUploads({ s3, client, bucket, prefix }: Bucket, before: Date): Promise<number> {
  let removed = 0
  let marker: { readonly KeyMarker?: string; readonly UploadIdMarker?: string } | undefined = {}
  while (marker !== undefined) {
    const page: import('@aws-sdk/client-s3').ListMultipartUploadsCommandOutput = await client.send(
      new s3.ListMultipartUploadsCommand({ Bucket: bucket, Prefix: prefix, ...marker }),
    )
    for (const { Key, UploadId, Initiated } of page.Uploads ?? []) {
      if (Initiated === undefined || Initiated >= before) continue
      await client
        .send(new s3.AbortMultipartUploadCommand({ Bucket: bucket, Key, UploadId }))
        .catch((error: unknown) => {
          // Another machine has swept it, or it was completed.
          if (!isMissing(error)) throw error
        })
      removed += 1
    }
    marker =
      page.IsTruncated === true && page.NextKeyMarker !== undefined
        ? { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker ?? '' }
        : undefined
  }
  return removed
}
