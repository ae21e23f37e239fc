/**
 * The fault of everything between Perdure and a Temporal server.
 *
 * Invariants
 * - [REACH-1] A server that is away is named with its address, in place of what a library says of a call.
 */
import { Fault } from '../../faults/fault.ts'
import { isUnreached } from '../calls/call-status.ts'

/** Temporal could not be found, started or reached; the message says what to do. */
export class TemporalFault extends Fault<
  | 'no_binary'
  | 'port_in_use'
  | 'incompatible_file'
  | 'corrupt_file'
  | 'no_permission'
  | 'disk_full'
  | 'start_failed'
  | 'gave_up'
  | 'busy'
  | 'bad_settings'
  | 'unreachable'
  | 'unknown_namespace'
  | 'search_attributes'
  | 'copied_store'
> {
  override readonly name = 'TemporalFault'
}

/** A server, and whether it answers. */
interface Server {
  readonly address: string
  /** The message about a server that does not answer now; undefined while it answers. */
  silence(): string | undefined
}

/** @throws TemporalFault `unreachable` */
export async function reaching<T>({ address, silence }: Server, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isUnreached(error)) throw error
    const what = silence() ?? `The Temporal server at ${address} does not answer`
    throw new TemporalFault('unreachable', `${what}.`, { cause: error })
  }
}
