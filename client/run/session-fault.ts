/**
 * Faults of a training session.
 *
 * Invariants
 * - Light to load: a caller that distinguishes faults loads no worker.
 */
import { Fault } from '../../faults/fault.ts'

/** A training session refused or failed a request. */
export class SessionFault extends Fault<
  | 'run_exists'
  | 'unknown_run'
  | 'unknown_version'
  | 'unknown_suite'
  | 'unknown_schedule'
  | 'unknown_episode'
  | 'unknown_turn'
  | 'not_replayable'
  | 'schedule_exists'
  /** A cron expression that may be read in two ways, or that never fires. */
  | 'bad_timing'
  | 'unknown_experiment'
  /** Its file states something else than when it began. */
  | 'experiment_changed'
  /** A file that is no report of the experiment. */
  | 'bad_report'
  /** A pilot, or a difference, that an experiment cannot be planned by. */
  | 'bad_pilot'
  | 'not_running'
  | 'no_workers'
  /** The run ended without a result; the message says why. */
  | 'run_failed'
  /** An evaluation or a branch was ended before it had one. */
  | 'no_result'
  /** The run heard an order that it cannot follow. */
  | 'refused'
> {
  override readonly name = 'SessionFault'
}

/** The fault of starting a run whose name is taken. */
export function runExists(run: string, home: string): SessionFault {
  return new SessionFault(
    'run_exists',
    `run ${run} exists in ${home}; continue it with \`perdure resume ${run}\`, or name another with --run`,
  )
}
