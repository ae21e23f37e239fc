/**
 * The address space of this process, which `ulimit -v` or a job scheduler may limit.
 *
 * Invariants
 * - [SPACE-1] A limit under which a run cannot work is refused before anything starts: the JavaScript engine and its threads
 *   reserve much more than they use, and end the process without a word where they cannot.
 */
import { readFileSync } from 'node:fs'
import { Fault } from '../../faults/fault.ts'

const gigabyte = 1e9
/** The smallest run on two cores works within it, and not within 20 GB. */
const neededBytes = 24 * gigabyte

/** A limit of the machine keeps a run from working. */
export class LimitFault extends Fault<'address_space'> {
  override readonly name = 'LimitFault'
  protected static override readonly permanentKinds = 'all'
}

/** @param limits as `/proc/self/limits` has them @returns bytes; undefined where there is no limit */
export function addressSpaceOf(limits: string): number | undefined {
  const [, soft] = /^Max address space\s+(\d+)/m.exec(limits) ?? []
  return soft === undefined ? undefined : Number(soft)
}

/** @param bytes of address space; undefined: no limit @returns what to do about a limit that is too low */
export function spaceAdvice(bytes: number | undefined): string | undefined {
  if (bytes === undefined || bytes >= neededBytes) return undefined
  return `the address space is limited to ${(bytes / gigabyte).toFixed(1)} GB, and a run reserves at least ${neededBytes / gigabyte} GB, most of which it never uses: raise the limit with \`ulimit -v unlimited\`, and limit memory by a control group instead`
}

/** @throws LimitFault `address_space` */
export function requireAddressSpace(bytes: number | undefined = addressSpace()): void {
  const advice = spaceAdvice(bytes)
  if (advice !== undefined) throw new LimitFault('address_space', advice)
}

/** Bytes; undefined where there is no limit, or none that can be read. */
export function addressSpace(): number | undefined {
  try {
    return addressSpaceOf(readFileSync('/proc/self/limits', 'utf8'))
  } catch {
    // macOS has no such limit, and some sandboxes have no such file.
    return undefined
  }
}
