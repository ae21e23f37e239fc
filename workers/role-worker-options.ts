/**
 * Roles that a process takes on for runs, and the options of their workers.
 *
 * Invariants
 * - A process takes on any set of roles; each role has workers of its own.
 * - Omitted options take the values of this package.
 */
import type { RunConfig } from '../config/schema/schema.ts'
import type { EnvironmentDefinition } from '../envs/contract/environment.ts'
import type { HomeName, RunId } from '../identity/identity.ts'
import type { Engine } from '../policy/engines/engine.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import type { TemporalConnection } from '../temporal/connection.ts'
import type { CreateTrainer } from './trainers.ts'

/** Roles a process can take on. */
export const roles = ['orchestrator', 'environment', 'policy', 'trainer'] as const
export type Role = (typeof roles)[number]

export interface RoleWorkerOptions {
  readonly connection: TemporalConnection
  /** Whose work the workers do. */
  readonly homeName: HomeName
  readonly home: string
  readonly roles: readonly Role[]
  readonly log: (line: string) => void
  /** The engine of a run; the one that its configuration names by default. */
  readonly createEngine?: (config: RunConfig, run: RunId) => Promise<Engine>
  /** The process's trainer for runs of such settings; by default the one that they name. */
  readonly createTrainer?: CreateTrainer
  /** Whether warm starts are taken from the user's cache and kept there; true unless `PERDURE_NO_CACHE` is set. */
  readonly cache?: boolean | undefined
  /** The task of a name; those of the registry by default. */
  readonly findEnvironment?: (name: string) => EnvironmentDefinition
  /** Most activities that a worker of sessions or of sampling does at once; 500 by default. */
  readonly slots?: number | undefined
  /** Seconds that activities in progress get once the workers are to stop; 3 by default. */
  readonly drainSeconds?: number | undefined
  /** Workflows kept in memory. */
  readonly maxCachedWorkflows?: number
  /** Whether processes with other builds of the workflows may be at work, or come back; false by default. */
  readonly shared?: boolean
  /** The folder of the workflow code; that of this package by default. */
  readonly workflows?: string
  /** Counts what runs have cost until now. */
  readonly countCosts?: (() => Promise<void>) | undefined
  /** Receives what the workers do; no one by default. */
  readonly telemetry?: Pick<Telemetry, 'observers'>
}
