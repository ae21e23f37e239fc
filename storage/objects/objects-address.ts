/**
 * The address of objects, `s3://BUCKET[/PREFIX]`, as PERDURE_OBJECTS has it. Keys, region and endpoint are the AWS SDK's own variables.
 *
 * Invariants
 * - [OBJECTS-ADDRESS-1] Any other text is refused, and text that may hold a secret is not repeated.
 */
import { ObjectFault } from './object-fault.ts'

export interface ObjectsAddress {
  readonly bucket: string
  /** Empty, or names that end with a slash. */
  readonly prefix: string
}

const bucketPattern = /^(?!\d+\.\d+\.\d+\.\d+$)[a-z0-9](?:[a-z0-9-]|\.(?!\.)){1,61}[a-z0-9]$/
const prefixPattern = /^(?:[A-Za-z0-9_][\w.@=+-]*(?:\/|$))*$/

/** @throws ObjectFault `bad_address` */
export function parseObjectsAddress(text: string): ObjectsAddress {
  const refuse = (problem: string): never => {
    // Before an @ there may be keys.
    const shown = text.includes('@') || text.length > 200 ? '' : ` ${JSON.stringify(text)}`
    throw new ObjectFault(
      'bad_address',
      `PERDURE_OBJECTS${shown}: ${problem}. It is s3://BUCKET or s3://BUCKET/PREFIX`,
    )
  }
  if (!text.startsWith('s3://')) refuse('it must begin with s3://')
  const [bucket = '', ...names] = text.slice('s3://'.length).split('/')
  const prefix = names.join('/').replace(/\/$/, '')
  if (bucket.includes('@')) refuse('keys belong into AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY')
  if (!bucketPattern.test(bucket)) refuse('a bucket has 3 to 63 lower-case letters, digits, dots and hyphens')
  if (!prefixPattern.test(prefix) || prefix.length > 200)
    refuse('a prefix has at most 200 letters, digits and . _ - @ = + between slashes')
  return { bucket, prefix: prefix === '' ? '' : `${prefix}/` }
}
