/**
 * The client of S3, from the AWS SDK: the one file that imports it, when objects are in a bucket.
 *
 * Invariants
 * - Without an address in PERDURE_OBJECTS nothing of the SDK is loaded; it need not be installed.
 * - A fault keeps only the name and the status of an error of the SDK or a server: messages may name keys.
 */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { codeOf } from '../../faults/system-error.ts'
import { packageRoot } from '../../machine/files/folder.ts'
import { ObjectFault, type ObjectFaultKind } from './object-fault.ts'

export type S3Package = typeof import('@aws-sdk/client-s3')
export type S3Client = import('@aws-sdk/client-s3').S3Client

/** A link that is cut without a word is noticed after this. */
const silenceMs = 30_000
const connectingMs = 10_000

const packageName = '@aws-sdk/client-s3'

export interface OpenedClient {
  readonly s3: S3Package
  readonly client: S3Client
}

/**
 * @param load imports the package
 * @throws ObjectFault `not_installed`, with the command that installs it
 */
export async function openS3Client(load: () => Promise<S3Package> = loadPackage): Promise<OpenedClient> {
  const s3 = await load().catch((cause: unknown) => {
    if (codeOf(cause) !== 'ERR_MODULE_NOT_FOUND') throw cause
    throw new ObjectFault(
      'not_installed',
      `PERDURE_OBJECTS needs a package that is not installed: npm install --ignore-scripts ${packageName}@${testedVersion()}`,
      { cause },
    )
  })
  // Servers that are not Amazon's have one host name and no regions.
  const hasEndpoint = Boolean(process.env.AWS_ENDPOINT_URL_S3 ?? process.env.AWS_ENDPOINT_URL)
  const region = process.env.AWS_REGION ?? (hasEndpoint ? 'us-east-1' : undefined)
  const client = new s3.S3Client({
    ...(region === undefined ? {} : { region }),
    forcePathStyle: hasEndpoint,
    // Each object has its SHA-256, which is compared here.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: connectingMs, socketTimeout: silenceMs },
  })
  return { s3, client }
}

function loadPackage(): Promise<S3Package> {
  return import('@aws-sdk/client-s3')
}

function testedVersion(): string {
  const require = createRequire(import.meta.url)
  const { peerDependencies } = require(join(packageRoot, 'package.json')) as {
    readonly peerDependencies: Readonly<Record<string, string>>
  }
  return peerDependencies[packageName] ?? 'latest'
}

/** An error of a server or of the client, without its message. */
interface Answer {
  readonly name: string
  readonly status: number | undefined
}

export function answerOf(error: unknown): Answer {
  const { name, $metadata } = error as {
    readonly name?: unknown
    readonly $metadata?: { readonly httpStatusCode?: number }
  }
  return { name: typeof name === 'string' ? name : 'unknown', status: $metadata?.httpStatusCode }
}

/** The key is taken: it did not meet `If-None-Match: *`. */
export function isTaken(error: unknown): boolean {
  return answerOf(error).status === 412
}

export function isMissing(error: unknown): boolean {
  const { name, status } = answerOf(error)
  return status === 404 && name !== 'NoSuchBucket'
}

/** The bytes that arrived do not have the checksum that came with them. */
export function isRefusedContent(error: unknown): boolean {
  const { name, status } = answerOf(error)
  return status === 400 && /Digest|Checksum|SHA256Mismatch|InvalidRequest/i.test(name)
}

const advice: Readonly<Partial<Record<ObjectFaultKind, string>>> = {
  no_bucket: 'the bucket does not exist; create it, or correct PERDURE_OBJECTS',
  no_permission:
    'access is denied; the keys in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the role, must be allowed to put, get, list and delete there',
  not_configured:
    'the client has no keys or no region; set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION',
  unsupported: 'the server does not support the request; use one that does',
  damaged_upload: 'the bytes that arrived are not those that were announced; the upload may be tried again',
  unavailable: 'the server cannot be reached, is overloaded or failed; the request may be tried again',
}

/** The fault for an error of the client; an ObjectFault is returned as it is. */
export function objectFaultOf(error: unknown, subject: string): ObjectFault {
  if (error instanceof ObjectFault) return error
  const answer = answerOf(error)
  const kind = kindOf(error, answer)
  const said = [answer.name, answer.status, codeOf(error)].filter(Boolean).join(', ')
  return new ObjectFault(kind, `${subject}: ${advice[kind] ?? kind} (${said})`, { cause: new Error(said) })
}

function kindOf(error: unknown, { name, status }: Answer): ObjectFaultKind {
  if (name === 'NoSuchBucket') return 'no_bucket'
  if (name === 'CredentialsProviderError' || isWithoutRegion(error)) return 'not_configured'
  // They pass: another writer is at work, or keys are being renewed.
  if (name === 'ExpiredToken' || name === 'RequestTimeTooSkewed' || status === 409) return 'unavailable'
  if (status === 401 || status === 403) return 'no_permission'
  if (status === 404) return 'missing'
  if (isRefusedContent(error)) return 'damaged_upload'
  if (status === 400 || status === 405 || status === 501) return 'unsupported'
  return 'unavailable'
}

function isWithoutRegion(error: unknown): boolean {
  return error instanceof Error && error.message === 'Region is missing'
}
