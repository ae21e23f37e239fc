/**
 * Faults of pulling data: one class, and what kept the data from coming.
 */

/** Data could not be pulled. */
export class DataFault extends Error {
  override readonly name = 'DataFault'
  readonly kind: /** No address has the file. */
    | 'not_found'
    /** The publisher or mirror cannot be reached, or breaks off again and again. */
    | 'unreachable'
    /** The bytes are not the published ones. */
    | 'wrong_content'
    /** More came than the source may have. */
    | 'too_large'
    /** The archive holds what must not be unpacked. */
    | 'bad_archive'
    /** The disk or the folder does not take it. */
    | 'not_writable'

  constructor(kind: DataFault['kind'], message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.kind = kind
  }
}

/** The same error, as one of writing to a path; a DataFault is returned as it is. */
export function writingFault(cause: unknown, path: string): unknown {
  if (!(cause instanceof Error) || !('code' in cause) || typeof cause.code !== 'string') return cause
  const { code } = cause
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new DataFault(
      'not_writable',
      `${path}: the disk is full; free space, and the same command goes on`,
      { cause },
    )
  if (['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EISDIR', 'EEXIST'].includes(code))
    return new DataFault('not_writable', `${path} cannot be written (${cause.message})`, { cause })
  return cause
}
