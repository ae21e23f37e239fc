/** The fault of everything between Perdure and a Temporal server. */
import { Fault } from '../../faults/fault.ts'

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
