/**
 * The fault of everything that reads or writes checkpoints and tensor files.
 */
import { Fault } from '../../faults/fault.ts'
import { codeOf, systemFailureOf } from '../../faults/system-error.ts'

/**
 * A checkpoint or tensor file cannot be used; the message names file, place, value and limit. `missing`: nothing
 * complete is there; `corrupt`: bytes contradict themselves or their checksum; `foreign`: well formed, but not what this
 * project can use; `io`: the file system refused.
 */
export class CheckpointFault extends Fault<'missing' | 'corrupt' | 'foreign' | 'io'> {
  override readonly name = 'CheckpointFault'
  protected static override readonly permanentKinds: readonly CheckpointFault['kind'][] = [
    'missing',
    'corrupt',
    'foreign',
  ]
}

/** Turns what `node:fs` threw when a file or folder was read into a CheckpointFault; faults pass unchanged. */
export function fileFault(path: string, doing: string, cause: unknown): CheckpointFault {
  if (cause instanceof CheckpointFault) return cause
  const failure = systemFailureOf(cause)
  if (failure === 'missing' || failure === 'not_a_directory')
    return new CheckpointFault('missing', `${path}: no such file, while ${doing}`, { cause })
  return writingFault(path, doing, cause)
}

/**
 * Turns what `node:fs` threw when a file or folder was written into a CheckpointFault; faults pass unchanged. Where
 * a folder went while it was written to, writing again makes it again.
 */
export function writingFault(path: string, doing: string, cause: unknown): CheckpointFault {
  if (cause instanceof CheckpointFault) return cause
  return new CheckpointFault('io', `${path}: ${codeOf(cause) ?? String(cause)} while ${doing}`, { cause })
}
