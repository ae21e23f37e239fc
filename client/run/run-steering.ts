/**
 * Steering from outside: orders to a run that is in progress, and the trail that they leave.
 *
 * Invariants
 * - An order goes through the run's workflow, so it has the same effect from every caller.
 * - A call returns when the run has taken the order, or says why it has not.
 */
import { hostname, userInfo } from 'node:os'
import { type WorkflowHandle, WorkflowUpdateFailedError } from '@temporalio/client'
import { ApplicationFailure } from '@temporalio/common'
import {
  changeSettings,
  checkpointNow,
  evaluateNow,
  pause,
  resume,
  rollBack,
  runRestarts,
  type SettingsChange,
  stop,
} from '../../contract/messages.ts'
import { runId } from '../../identity/identity.ts'
import { clock } from '../../machine/services/clock.ts'
import type { AuditEntry } from '../../storage/records/audit.ts'
import { isDeadline, isNotFound, isNotReady } from '../../temporal/calls/call-status.ts'
import { TemporalFault } from '../../temporal/server/fault.ts'
import { answerDeadlineMs } from '../../temporal/server-calls.ts'
import type { trainingRun } from '../../workflows/run/training-run.ts'
import type { SessionParts } from './run-calls.ts'
import { SessionFault } from './session-fault.ts'

export type { SettingsChange } from '../../contract/messages.ts'
export type { AuditEntry } from '../../storage/records/audit.ts'

export interface OrderOptions {
  /** Why; of a pause the run's status shows it. */
  readonly reason?: string
  /** The person at this machine by default. */
  readonly by?: string
}

/** Orders to runs. All throw SessionFault `unknown_run`, `not_running`, `no_workers`, `refused`. */
export interface RunSteering {
  pause(run: string, options?: OrderOptions): Promise<void>
  continue(run: string, options?: OrderOptions): Promise<void>
  /** Stops after the update in progress, or without waiting for it; `resume` continues from there. */
  stop(run: string, options?: { readonly now?: boolean }): Promise<void>
  /** New values of live settings by their keys in a configuration, all or none; null takes one away. */
  change(run: string, settings: SettingsChange): Promise<void>
  /** Starts an evaluation of the current version in the run; the first suite by default. @returns its id */
  evaluateNow(run: string, suite?: string): Promise<string>
  /** Keeps the checkpoint of the current version. @returns the version */
  checkpoint(run: string): Promise<number>
  /** After the update in progress the run continues from that version's weights, as a new version. */
  rollBack(run: string, version: number): Promise<void>
  /** Every order that the run has taken, the earliest first. */
  audit(run: string): Promise<readonly AuditEntry[]>
}

const askedAgainAfterMs = 200

export function createRunSteering(parts: SessionParts): RunSteering {
  const { client, store, server, handleOf, known, describe, goodVersion, by } = parts

  /** Sends a message that the run must answer. */
  async function steer<T>(
    run: string,
    send: (handle: WorkflowHandle<typeof trainingRun>) => Promise<T>,
    until = clock.now() + answerDeadlineMs,
  ): Promise<T> {
    await known(run)
    const description = await describe(run)
    if (description?.status.name !== 'RUNNING') throw notRunning(run)
    try {
      return await client.withDeadline(until, () => send(handleOf(run)))
    } catch (error) {
      // The run's task failed meanwhile, as it does when the run is just ending, or the run restarts.
      const isEarly = isNotReady(error) || isForNextExecution(error)
      if (isEarly && clock.now() < until) {
        await clock.sleep(askedAgainAfterMs)
        return steer(run, send, until)
      }
      // It ended since it was looked at.
      if (isNotFound(error)) throw notRunning(run, error)
      if (error instanceof WorkflowUpdateFailedError)
        throw new SessionFault('refused', error.cause?.message ?? error.message, { cause: error })
      if (!isDeadline(error)) throw error
      const silence = server.silence()
      if (silence !== undefined) throw new TemporalFault('unreachable', `${silence}.`, { cause: error })
      const message = `no worker answers for run ${run}; start one with \`perdure resume ${run}\` or \`perdure worker\``
      throw new SessionFault('no_workers', message, { cause: error })
    }
  }

  return {
    async pause(run, order = {}) {
      await steer(run, (handle) => handle.executeUpdate(pause, { args: [{ by, ...order }] }))
    },
    async continue(run, order = {}) {
      await steer(run, (handle) => handle.executeUpdate(resume, { args: [{ by, ...order }] }))
    },
    async stop(run, { now = false } = {}) {
      await steer(run, (handle) => handle.executeUpdate(stop, { args: [{ by, now }] }))
    },
    change: (run, settings) =>
      steer(run, (handle) => handle.executeUpdate(changeSettings, { args: [settings, { by }] })),
    async evaluateNow(run, wish) {
      const { config } = await known(run)
      const suite = wish ?? config.evaluation.suites[0]?.name ?? ''
      return steer(run, (handle) => handle.executeUpdate(evaluateNow, { args: [{ suite, by }] }))
    },
    checkpoint: (run) => steer(run, (handle) => handle.executeUpdate(checkpointNow, { args: [{ by }] })),
    async rollBack(run, version) {
      await known(run)
      const good = await goodVersion(runId(run), version)
      if (good !== version)
        throw new SessionFault(
          'unknown_version',
          `the checkpoint of version ${version} of run ${run} is broken`,
        )
      await steer(run, (handle) => handle.executeUpdate(rollBack, { args: [{ version, by }] }))
    },
    async audit(run) {
      await known(run)
      return store.audit.list(runId(run))
    },
  }
}

function notRunning(run: string, cause?: unknown): SessionFault {
  const message = `run ${run} is not running; \`perdure resume ${run}\` continues it`
  return new SessionFault('not_running', message, { cause })
}

/** Whether a run refused an order because it is about to continue in another execution, which takes it. */
function isForNextExecution(error: unknown): boolean {
  if (!(error instanceof WorkflowUpdateFailedError)) return false
  return error.cause instanceof ApplicationFailure && error.cause.type === runRestarts
}

/** The person at this machine, for the audit trail. */
export function whoami(): string {
  try {
    return `${userInfo().username}@${hostname()}`
  } catch {
    // A container's user need not have a name.
    return `uid-${process.getuid?.() ?? 'unknown'}@${hostname()}`
  }
}
