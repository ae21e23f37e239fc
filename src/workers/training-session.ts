/**
 * A session with Perdure: start, watch and steer runs from a program or the command line.
 *
 * Invariants
 * - Closing a session stops what it started (workers, engines, the embedded server's last user) and
 *   leaves every run resumable.
 * - Steering goes through the run's workflow: two sessions see and do the same.
 */
import type { RunConfig } from '../config/schema.ts'

/** Roles a process can take on. */
export const roles = ['orchestrator', 'environment', 'policy', 'trainer'] as const
export type Role = (typeof roles)[number]

export type RunPhase =
  | 'starting'
  | 'warm_start'
  | 'evaluating'
  | 'training'
  | 'paused'
  | 'stopping'
  | 'done'
  | 'stopped'
  | 'failed'

/** One finished evaluation. */
export interface EvaluationSummary {
  readonly suite: string
  readonly version: number
  /** Share of episodes that completed with full reward, in [0, 1]. */
  readonly success: number
  readonly n: number
}

/** What a run says of itself, as the `progress` query answers it. */
export interface RunProgress {
  readonly run: string
  readonly phase: RunPhase
  readonly version: number
  readonly step: number
  readonly updates: number
  readonly warmStart?: { readonly done: number; readonly total: number }
  readonly episodesInFlight: number
  readonly groupsInFlight: number
  readonly groupsReady: number
  /** Mean staleness of the last update's groups, in versions. */
  readonly staleness: number
  readonly episodes: number
  readonly tokens: number
  /** Of the last update, per task. */
  readonly success: Readonly<Record<string, number>>
  readonly reward: Readonly<Record<string, number>>
  readonly evaluations: readonly EvaluationSummary[]
  readonly startedAt: number
  readonly message?: string
}

export interface SessionOptions {
  readonly home: string
  /** `client` starts no workers. */
  readonly roles: 'all' | 'client' | readonly Role[]
  readonly log: (line: string) => void
}

export interface TrainingSession {
  /** Address of the Temporal UI, where there is one. */
  readonly uiUrl: string | undefined
  /** Starts a run; a run of that name that exists already is a SessionFault `run_exists`. */
  start(run: string, config: RunConfig): Promise<void>
  /** Goes on with a run after a crash or a stop; a finished one is left as it is. */
  resume(run: string): Promise<void>
  /** Makes the run's versions servable here: engines load what the run needs. */
  progress(run: string): Promise<RunProgress>
  /** Settles when the run ends. */
  result(run: string): Promise<RunProgress>
  pause(run: string): Promise<void>
  continue(run: string): Promise<void>
  /** Stops after the update in hand; `resume` goes on from there. */
  stop(run: string): Promise<void>
  /** Evaluates one checkpoint; the latest by default. */
  evaluate(run: string, options: { version?: number; suite?: string; episodes?: number }): Promise<EvaluationSummary>
  close(): Promise<void>
}

/** A session could not do what it was asked. */
export class SessionFault extends Error {
  override readonly name = 'SessionFault'
  readonly kind: 'run_exists' | 'unknown_run' | 'unknown_version' | 'unknown_suite' | 'not_running' | 'no_workers'

  constructor(kind: SessionFault['kind'], message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.kind = kind
  }
}
