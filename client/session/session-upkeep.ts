/**
 * Upkeep of a home by a process with workers, beside its runs: it takes over what other builds left, watches the disk, and
 * applies retention.
 *
 * Invariants
 * - Parts stop in reverse order of starting; a part that fails to stop does not keep the others running.
 */

import { startTakeover, type Takeover } from '../../workers/deployment/takeover.ts'
import type { Role } from '../../workers/role-worker-options.ts'
import type { RoleWorkers } from '../../workers/role-workers.ts'
import { type DiskWatchOptions, diskWatcher, watchDisk } from '../../workers/upkeep/disk-watch.ts'
import { startRetentionRounds } from '../../workers/upkeep/retention-rounds.ts'
import type { SessionParts } from '../run/run-calls.ts'
import type { OwnProgress } from '../run/run-progress.ts'
import type { RunLaunch } from '../run/run-start.ts'
import type { RunSteering } from '../run/run-steering.ts'
import { SessionFault } from '../run/session-fault.ts'

export interface SessionUpkeep extends AsyncDisposable {
  /** Settles when what other builds of the workflows left has been looked for. */
  readonly looked: Promise<void>
}

interface Dependencies {
  readonly parts: SessionParts
  readonly launch: RunLaunch
  readonly ownProgress: OwnProgress
  readonly steering: Pick<RunSteering, 'pause' | 'continue'>
  readonly workers: RoleWorkers
}

interface UpkeepOptions {
  readonly roles: readonly Role[]
  readonly shared?: boolean | undefined
  readonly diskLookMs?: number | undefined
  readonly takeoverLookMs?: number | undefined
  readonly log: (line: string) => void
}

export function startSessionUpkeep(dependencies: Dependencies, options: UpkeepOptions): SessionUpkeep {
  const { parts, ownProgress, steering } = dependencies
  const { home, store, client, homeName } = parts
  const { roles, diskLookMs, log } = options
  const started = new AsyncDisposableStack()
  const takeover = takeoverOf(dependencies, options)
  started.defer(() => takeover?.close())
  const disk = watchDisk({
    home: home.dir,
    log,
    everyMs: diskLookMs,
    running: parts.running,
    phase: async (run) => (await ownProgress(run)).phase,
    ...ordersForDisk(steering),
    async isPausedForDisk(run) {
      const turns = (await store.audit.list(run)).filter(
        ({ what }) => what === 'pause' || what === 'continue',
      )
      const last = turns.at(-1)
      return last?.what === 'pause' && last.by === diskWatcher
    },
  })
  started.defer(() => disk.close())
  if (roles.includes('orchestrator')) {
    const rounds = startRetentionRounds({ home, store, client, homeName, log })
    started.defer(() => rounds.close())
  }
  return {
    looked: takeover?.looked ?? Promise.resolve(),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

/** Undefined where no role of this process runs the workflows of runs, or the server does not know builds. */
function takeoverOf(
  { parts, launch, workers: { deployment, workflows } }: Dependencies,
  { shared = false, takeoverLookMs, log }: UpkeepOptions,
): Takeover | undefined {
  if (deployment === undefined || workflows === undefined) return undefined
  return startTakeover({
    client: parts.client,
    home: parts.homeName,
    deployment,
    workflows,
    shared,
    relaunch: launch.relaunch,
    log,
    everyMs: takeoverLookMs,
  })
}

/** They return false where the run has ended or takes no such order. */
function ordersForDisk(
  steering: Pick<RunSteering, 'pause' | 'continue'>,
): Pick<DiskWatchOptions, 'pause' | 'continue'> {
  const order = (what: 'pause' | 'continue') => async (run: string, reason: string) => {
    try {
      await steering[what](run, { by: diskWatcher, reason })
      return true
    } catch (error) {
      if (error instanceof SessionFault && error.kind !== 'no_workers') return false
      throw error
    }
  }
  return { pause: order('pause'), continue: order('continue') }
}
