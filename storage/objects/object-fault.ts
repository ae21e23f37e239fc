/**
 * Faults of objects: one vocabulary for everything that keeps an object from being put or read.
 *
 * Invariants
 * - Each fault says what to do, and whether trying again later can help (`permanent`).
 * - No message and no cause holds a key or a signature: only the name and status of a server's error are kept.
 */
import { Fault } from '../../faults/fault.ts'

export type ObjectFaultKind =
  /** PERDURE_OBJECTS cannot be read as an address. */
  | 'bad_address'
  /** A key that would leave the store, or that another implementation could not hold. */
  | 'bad_key'
  /** The client of S3 is not installed. */
  | 'not_installed'
  | 'no_bucket'
  | 'no_permission'
  /** No keys or no region are known to the client. */
  | 'not_configured'
  /** The server lacks a function that objects need. */
  | 'unsupported'
  /** No object has this key. */
  | 'missing'
  /** The key holds other content. */
  | 'conflict'
  /** The bytes that came are not those that were put. */
  | 'corrupt'
  /** The bytes that were sent are not those that were announced: the file changed meanwhile, or the network damaged them. */
  | 'damaged_upload'
  /** The server cannot be reached, is overloaded, or failed. */
  | 'unavailable'

/** A store of objects refused or failed a request. */
export class ObjectFault extends Fault<ObjectFaultKind> {
  override readonly name = 'ObjectFault'
  // Only these two may be tried again, because their causes pass: `damaged_upload` and `unavailable`.
  protected static override readonly permanentKinds: readonly ObjectFaultKind[] = [
    'bad_address',
    'bad_key',
    'not_installed',
    'no_bucket',
    'no_permission',
    'not_configured',
    'unsupported',
    'missing',
    'conflict',
    'corrupt',
  ]
}
