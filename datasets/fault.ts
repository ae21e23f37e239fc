/**
 * Faults of pulling data: one class, and what kept the data from coming.
 */
import { Fault } from '../faults/fault.ts'
import { reasonOf } from '../faults/reason.ts'
import { systemFailureOf } from '../faults/system-error.ts'

/** Data could not be pulled. */
export class DataFault extends Fault<
  /** No address has the file. */
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
> {
  override readonly name = 'DataFault'
}

/** The same error, as one of writing to a path; what the disk and the folder are not to blame for is returned as it is. */
export function writingFault(cause: unknown, path: string): unknown {
  if (cause instanceof Fault) return cause
  switch (systemFailureOf(cause)) {
    case 'disk_full':
      return new DataFault(
        'not_writable',
        `${path}: the disk is full; free space, and the same command continues`,
        { cause },
      )
    case 'no_permission':
    case 'not_a_directory':
    case 'is_a_directory':
      return new DataFault('not_writable', `${path} cannot be written (${reasonOf(cause)})`, { cause })
    default:
      return cause
  }
}
