/**
 * Upkeep of a home by a process with workers, beside its runs: it takes over what other builds left, watches the disk,
 * counts what runs cost, and applies retention.
 *
 * Invariants
 * - Parts stop in reverse order of starting; a part that fails to stop does not keep the others running.
 * - [COSTS-1] All processor time of the process is counted, once: of one run at a time exactly, of several in equal parts.
 * - A killed process loses the time since its last count; the next count makes up for a failed one.
 */

import { reasonOf } from '../../faults/reason.ts'
import type { RunId } from '../../identity/identity.ts'
import { clock } from '../../machine/services/clock.ts'
import type { RunCosts } from '../../storage/records/run-costs.ts'
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

/** Cost of runs in this process: its processor time, divided among the runs in progress. */
interface CostCount {
  close(): Promise<void>
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
  const count = startCostCount({ costs: store.costs, running: parts.running, log })
  started.defer(() => count.close())
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

/** Rare enough to cost nothing, often enough that a killed process loses little. */
const usuallyEveryMs = 5_000

interface CostOptions {
  readonly costs: RunCosts
  /** Runs that have not ended. */
  readonly running: () => Promise<readonly { readonly run: RunId }[]>
  readonly log: (line: string) => void
  readonly everyMs?: number | undefined
  /** Seconds that this process has computed since it began. */
  readonly cpuSeconds?: () => number
}

/** Counts until it is closed. */
export function startCostCount(options: CostOptions): CostCount {
  const { costs, running, log, everyMs = usuallyEveryMs, cpuSeconds = ownCpuSeconds } = options
  const closing = new AbortController()
  const { signal } = closing
  let counted = cpuSeconds()
  /** Runs that were in progress at the last look: one that ended since has had its part. */
  let before: readonly RunId[] = []
  let hasFailed = false

  async function count(): Promise<void> {
    const now = (await running()).map(({ run }) => run)
    const shared = [...new Set([...before, ...now])]
    before = now
    const total = cpuSeconds()
    const part = (total - counted) / shared.length
    for (const run of shared) {
      await costs.add(run, part)
      counted += part
    }
    // CPU time that passes while no run is in progress is charged to none.
    counted = total
  }

  async function work(): Promise<void> {
    while (!signal.aborted) {
      await clock.sleep(everyMs, { signal, ref: false }).catch(() => undefined)
      try {
        await count()
      } catch (error) {
        if (!hasFailed && !signal.aborted)
          log(`what runs cost is not counted at the moment: ${reasonOf(error)}`)
        hasFailed = true
      }
    }
  }

  const working = work()
  return {
    async close() {
      closing.abort()
      await working
    },
  }
}

function ownCpuSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}
