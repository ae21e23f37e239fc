/**
 * Work that needs the server to answer now, and the fault in its place where the server does not.
 *
 * Invariants
 * - [REACH-1] A server that is away is named with its address, in place of what a library says of a call.
 */
import { isUnreached } from './calls/call-status.ts'
import { TemporalFault } from './server/fault.ts'

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
