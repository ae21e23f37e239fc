/**
 * Run activities: publishing versions and recording how a run ends.
 *
 * Invariants
 * - A version is published after its checkpoint is complete and loaded, and its state is stored with it.
 * - No checkpoint that work in flight may ask for is deleted.
 * - Publishing twice changes nothing.
 * - A state is stored only where the store has what it refers to (`known-work.ts`).
 * - [PUBLISHED-1] A run that was killed between a publication and its metrics line has the line once it continues.
 * - Recording an order twice changes nothing.
 */
import { askedVersions } from '../config/schema/asked-model-schema.ts'
import type { RunConfig } from '../config/schema/schema.ts'
import type { RunProgress } from '../contract/messages.ts'
import type { TrainingState } from '../contract/training-state.ts'
import type { RunId } from '../identity/identity.ts'
import type { Spending } from '../learning/run/budget.ts'
import { clock } from '../machine/services/clock.ts'
import { restoreCheckpoint } from '../policy/checkpoints/restoring.ts'
import { CheckpointFault } from '../policy/files/checkpoint-fault.ts'
import type { Home } from '../storage/disk/home.ts'
import { isUpdateMetrics } from '../storage/metrics/metrics.ts'
import { spendingOf } from '../storage/metrics/spending.ts'
import type { AuditEntry } from '../storage/records/audit.ts'
import { planRetention } from '../storage/records/retention.ts'
import type { Store } from '../storage/store.ts'
import { failing } from './calls/failure.ts'
import { finishTrackers, recordMetrics, restoreMetrics } from './metrics/run-metrics.ts'
import { metricsOf } from './metrics/update-metrics.ts'
import type { Serving } from './play/serving.ts'
import { requireKnownOrders, requireKnownWork } from './stored/known-work.ts'
import type { OpenRun, OpenRuns } from './stored/open-runs.ts'
import {
  discardCheckpoints,
  holdingsOf,
  longestEvaluationMs,
  type Needs,
  type RunPlace,
  remove,
  retentionPolicy,
} from './stored/retention.ts'
import { type ContinuedCourse, continuedCourse } from './stored/stored-course.ts'

export interface Publication {
  readonly run: RunId
  readonly step: number
  readonly version: number
  /** Versions that work in flight may still ask for. */
  readonly inUse: readonly number[]
  /** Further versions whose checkpoints must stay. */
  readonly kept?: readonly number[]
  /** The run's state, as JSON. */
  readonly state: string
  /** When the workflow wrote the state, in milliseconds since the epoch. */
  readonly at: number
}

/** Time between two looks at a run's trajectories, each of which reads every episode. */
const trajectoryLookMs = 10 * 60 * 1000

interface Dependencies {
  readonly home: Home
  readonly store: Store
  readonly runs: OpenRuns
  readonly serving: Serving
  /** Counts what runs have cost in this process until now. */
  readonly countCosts: (() => Promise<void>) | undefined
}

export type RunActivities = ReturnType<typeof createRunActivities>
export type AuditActivities = ReturnType<typeof createAuditActivities>

export function createRunActivities({ home, store, runs, serving, countCosts }: Dependencies) {
  /** When the trajectories of a run were last looked at. */
  const looked = new Map<RunId, number>()

  /** Runs whose metrics this process has seen to. A process that was killed may have left them behind the rest. */
  const whole = new Set<RunId>()

  async function completeMetrics({ run, directory }: OpenRun): Promise<void> {
    if (whole.has(run)) return
    await restoreMetrics(store, run, directory.metricsFile)
    whole.add(run)
  }

  async function clean(place: RunPlace, config: RunConfig, needs: Needs): Promise<void> {
    const before = looked.get(place.run)
    const trajectories = before === undefined || clock.monotonic() - before > trajectoryLookMs
    if (trajectories) looked.set(place.run, clock.monotonic())
    const now = clock.now()
    const holdings = await holdingsOf(place, { needs, trajectories })
    await remove(place, planRetention(holdings, retentionPolicy(config), now), now)
  }

  return failing({
    /** @returns what the run has spent so far, where its configuration has a budget */
    async publishVersion(publication: Publication): Promise<{ readonly spent: Spending } | undefined> {
      const { run, version, step, inUse, kept = [], at } = publication
      const since = clock.monotonic()
      const open = await runs.get(run)
      const { config, directory } = open
      const state = JSON.parse(publication.state) as TrainingState
      await requireKnownWork(store, state)
      await requireKnownOrders(store, state, at)
      await completeMetrics(open)
      await serving.prepare(run, version)
      await store.runs.publish(run, { version, state })
      await countCosts?.()
      await store.costs.publish(run, version, clock.now())
      // Evaluations that a person or a schedule started are not the run's own children.
      const evaluating = await store.evaluations.unfinished(run, clock.now() - longestEvaluationMs)
      await serving.keepOnly(run, [...inUse, ...evaluating, ...askedVersions(config.tasks)])
      await clean({ run, store, directory }, config, { version, inUse, pinned: kept })
      const update = step === 0 ? undefined : await store.updates.get(run, step)
      const publishSeconds = (clock.monotonic() - since) / 1000
      if (update !== undefined) await recordMetrics(store, open, metricsOf(update, publishSeconds))
      return config.training.stop === undefined ? undefined : { spent: await spentBy(store, run, version) }
    },

    /**
     * Copies an earlier version, weights and optimizer, to a new one that no version had before.
     * @returns the new version; null with the reason where the earlier one is not there or broken
     */
    async restoreVersion(request: {
      readonly run: RunId
      readonly to: number
      /** The current version. */
      readonly from: number
    }): Promise<{ readonly version: number | null; readonly problem: string }> {
      const { run, to, from } = request
      const open = await runs.get(run)
      try {
        const version = await restoreCheckpoint(open.directory.checkpointsDir, { to, from })
        const time = new Date(clock.now()).toISOString()
        await recordMetrics(store, open, { rollback: to, version, from, time })
        return { version, problem: '' }
      } catch (error) {
        if (!(error instanceof CheckpointFault) || error.kind === 'io') throw error
        return { version: null, problem: error.message }
      }
    },

    /**
     * The stored course from which a run continues when its workflow knows of work that the store lacks. Checkpoints that follow from such work are
     * moved away: the updates are made again from other groups.
     */
    async discardUnknownWork({ run }: { readonly run: RunId }): Promise<ContinuedCourse> {
      const continued = await continuedCourse(store, run)
      await discardCheckpoints(home, store, continued.course)
      return continued
    },

    /** How the run ended, with the state from which `resume` continues. */
    async recordEnd(request: {
      readonly run: RunId
      readonly progress: RunProgress
      readonly state: string
      /** When the workflow wrote the state, in milliseconds since the epoch. */
      readonly at: number
    }): Promise<void> {
      const { run, progress, at } = request
      const { phase, warmStart } = progress
      const isPublished = warmStart !== undefined && warmStart.done === warmStart.total
      const version = isPublished ? progress.version : null
      const state = JSON.parse(request.state) as TrainingState
      await requireKnownWork(store, state)
      await requireKnownOrders(store, state, at)
      await store.runs.publish(run, { version, state })
      await store.runs.setStatus(run, phase === 'done' || phase === 'stopped' ? phase : 'failed', {
        ended: clock.now(),
        ...(progress.message === undefined ? {} : { detail: progress.message }),
      })
      const open = await runs.get(run)
      await completeMetrics(open)
      await finishTrackers(store, open)
      if (phase === 'done') await serving.close(run)
    },
  })
}

/** Audit activities: a run's orders are recorded in its audit trail. */
export type { AuditEntry, AuditValue } from '../storage/records/audit.ts'

export function createAuditActivities({ store }: { readonly store: Store }) {
  return failing({
    async recordOrders(request: {
      readonly run: RunId
      readonly entries: readonly AuditEntry[]
    }): Promise<void> {
      await store.audit.put(request.run, request.entries)
    },
  })
}

/** Amounts that a run had spent when it published a version. */
async function spentBy(store: Store, run: RunId, version: number): Promise<Spending> {
  const updates = (await store.metrics.list(run)).filter(isUpdateMetrics)
  const at = clock.now()
  const created = (await store.runs.get(run))?.created ?? at
  return spendingOf(updates, { created, at, version, published: await store.costs.published(run) })
}
