/**
 * The end of a command that fails: one clear sentence and an exit code.
 *
 * Invariants
 * - 2 when the call was wrong, and then the message names the flag, key, argument or variable; 1 for everything else.
 * - A stack is printed only with PERDURE_DEBUG.
 */
import { CommanderError } from 'commander'
import { SessionFault } from '../../client/run/session-fault.ts'
import { ConfigFault } from '../../config/files/fault.ts'
import { Fault } from '../../faults/fault.ts'
import { ListeningFault } from '../../machine/network/listening.ts'
import { StorageFault } from '../../storage/disk/fault.ts'
import { TemporalFault } from '../../temporal/server/fault.ts'

/** Exit codes of all commands. */
export const exitCodes = { done: 0, failed: 1, wrongCall: 2, interrupted: 130 } as const

/** A call that cannot be carried out as it was written; `message` names the flag or argument. */
export class CallFault extends Fault<'bad_argument' | 'bad_flag'> {
  override readonly name = 'CallFault'
  protected static override readonly permanentKinds = 'all'
}

const sessionCodes: Record<SessionFault['kind'], number> = {
  run_exists: exitCodes.wrongCall,
  unknown_run: exitCodes.wrongCall,
  unknown_version: exitCodes.wrongCall,
  unknown_suite: exitCodes.wrongCall,
  unknown_schedule: exitCodes.wrongCall,
  unknown_episode: exitCodes.wrongCall,
  unknown_turn: exitCodes.wrongCall,
  not_replayable: exitCodes.wrongCall,
  schedule_exists: exitCodes.wrongCall,
  bad_timing: exitCodes.wrongCall,
  unknown_experiment: exitCodes.wrongCall,
  experiment_changed: exitCodes.wrongCall,
  bad_report: exitCodes.wrongCall,
  bad_pilot: exitCodes.wrongCall,
  not_running: exitCodes.failed,
  no_workers: exitCodes.failed,
  run_failed: exitCodes.failed,
  no_result: exitCodes.failed,
  refused: exitCodes.failed,
}

/** Variables of the call have values that cannot be used. */
const wrongSettings: ReadonlySet<TemporalFault['kind']> = new Set(['bad_settings', 'unknown_namespace'])

/** The exit code that an error ends a command with. */
export function exitCodeOf(error: unknown): number {
  // The first failure decides; the failure to close is its consequence.
  if (error instanceof SuppressedError) return exitCodeOf(error.suppressed)
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.wrongCall
  if (error instanceof ConfigFault || error instanceof CallFault || error instanceof ListeningFault)
    return exitCodes.wrongCall
  if (error instanceof SessionFault) return sessionCodes[error.kind]
  if (error instanceof TemporalFault)
    return wrongSettings.has(error.kind) ? exitCodes.wrongCall : exitCodes.failed
  return error instanceof StorageFault && error.kind === 'bad_address'
    ? exitCodes.wrongCall
    : exitCodes.failed
}

/** Message of an error; empty where it was printed already. */
export function explain(error: unknown, debug: boolean): string {
  if (error instanceof SuppressedError)
    return `${explain(error.suppressed, debug)}\nClosing failed too: ${explain(error.error, debug)}`
  // Commander writes its own messages.
  if (error instanceof CommanderError) return ''
  if (!(error instanceof Error)) return String(error)
  if (debug) return error.stack ?? error.message
  return error instanceof Fault
    ? error.message
    : `${error.message}\nPERDURE_DEBUG=1 shows where this happened.`
}
