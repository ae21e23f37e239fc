/**
 * The fault of everything that reads or writes checkpoints and tensor files.
 */

/** A checkpoint or tensor file cannot be used; the message names file, place, value and limit. */
export class CheckpointFault extends Error {
  override readonly name = 'CheckpointFault'
  /**
   * `missing`: nothing complete is there; `corrupt`: bytes contradict themselves or their checksum;
   * `foreign`: well formed, but not what this project can use; `io`: the file system refused.
   */
  readonly kind: 'missing' | 'corrupt' | 'foreign' | 'io'
  /** A fault that trying again cannot mend. */
  readonly permanent: boolean

  constructor(kind: CheckpointFault['kind'], message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.kind = kind
    this.permanent = kind !== 'io'
  }
}

/** Turns what `node:fs` threw when a file or folder was read into a CheckpointFault; faults pass unchanged. */
export function fileFault(path: string, doing: string, cause: unknown): CheckpointFault {
  if (cause instanceof CheckpointFault) return cause
  const code = (cause as NodeJS.ErrnoException | undefined)?.code
  if (code === 'ENOENT' || code === 'ENOTDIR')
    return new CheckpointFault('missing', `${path}: no such file, while ${doing}`, { cause })
  return writingFault(path, doing, cause)
}

/**
 * Turns what `node:fs` threw when a file or folder was written into a CheckpointFault; faults pass unchanged. Where
 * a folder went while it was written to, writing again makes it again.
 */
export function writingFault(path: string, doing: string, cause: unknown): CheckpointFault {
  if (cause instanceof CheckpointFault) return cause
  const code = (cause as NodeJS.ErrnoException | undefined)?.code
  return new CheckpointFault('io', `${path}: ${code ?? String(cause)} while ${doing}`, { cause })
}
