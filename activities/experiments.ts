/**
 * Experiment activities: they begin runs, and read their progress from the store.
 *
 * Invariants
 * - A run has its arm's configuration from the statement, and its seed; beginning it twice finds it.
 * - A wait ends by itself after a while, so that no worker is held by a wait whose experiment is gone.
 */
import { Context } from '@temporalio/activity'
import { CancelledFailure } from '@temporalio/common'
import type { ExperimentStatement } from '../config/files/experiment.ts'
import { refuseRemovedInUse, storedConfig } from '../config/files/stored-config.ts'
import type { RunConfig } from '../config/schema/schema.ts'
import type { ExperimentRun, ExperimentRunEnding } from '../contract/messages.ts'
import type { ExperimentName, RunId } from '../identity/identity.ts'
import type { RunStatus } from '../learning/run/run-phase.ts'
import { clock } from '../machine/services/clock.ts'
import { StorageFault } from '../storage/disk/fault.ts'
import type { Store } from '../storage/store.ts'
import { failing } from './calls/failure.ts'
import { endingOf } from './children.ts'
import { type ContinuedCourse, continuedCourse } from './stored/stored-course.ts'

const lookEveryMs = 1_000
/** A run that is resumed is `running` a moment before it has an execution. */
const lostAfterLooks = 15
const longestWaitMs = 30 * 60_000

/** A run as its workflow begins with it. */
export interface BegunRun {
  readonly status: RunStatus
  readonly created: number
  readonly config?: RunConfig
  /** The run as the store has it, with the orders that its state does not know. */
  readonly goesOn?: ContinuedCourse
}

export type ExperimentActivities = ReturnType<typeof createExperimentActivities>

export function createExperimentActivities({ store }: { readonly store: Store }) {
  return failing({
    /** Finds the runs that exist, with their status. */
    async findRuns(request: {
      readonly runs: readonly RunId[]
    }): Promise<{ readonly known: Readonly<Record<string, RunStatus>> }> {
      const records = await Promise.all(request.runs.map((run) => store.runs.get(run)))
      return { known: Object.fromEntries(records.flatMap((each) => (each ? [[each.id, each.status]] : []))) }
    },

    /**
     * Stores a run, unless it is there.
     * @param request.again a run that has ended without being done, or lost its execution, goes on
     * @returns what its workflow begins with: the configuration only where it has not begun yet, its course only where it
     *   goes on
     */
    async beginRun(request: {
      readonly experiment: ExperimentName
      readonly run: ExperimentRun
      readonly again?: { readonly workflowId: string }
    }): Promise<BegunRun> {
      const { experiment, run: wanted, again } = request
      const stored = await store.experiments.get(experiment)
      const statement = stored?.statement as ExperimentStatement | undefined
      const arm = statement?.arms.find((each) => each.arm === (wanted.point ?? wanted.arm))
      if (arm === undefined)
        throw new StorageFault(
          'missing',
          `experiment ${experiment} with arm ${wanted.arm} is not in the store`,
        )
      refuseRemovedInUse(`arm ${arm.arm} of experiment ${experiment}`, arm.config)
      const config = storedConfig({ ...arm.config, seed: wanted.seed })
      await store.runs.insert({ id: wanted.run, config, created: clock.now() })
      const record = await store.runs.get(wanted.run)
      if (record === undefined)
        throw new StorageFault('missing', `run ${wanted.run} vanished while it was begun`)
      const { status, created } = record
      // Asked of the server: an attempt whose answer was lost has made it `running` without an execution.
      const hasEnded = async (workflowId: string) =>
        (await endingOf(Context.current().client, workflowId)) !== undefined
      if (again !== undefined && status !== 'done' && (await hasEnded(again.workflowId))) {
        await store.runs.setStatus(wanted.run, 'running')
        return { status: 'running', created, goesOn: await continuedCourse(store, wanted.run) }
      }
      const hasBegun = (await store.runs.state(wanted.run)) !== undefined
      return { status, created, ...(hasBegun ? {} : { config }) }
    },

    /** Waits until a run has its warm start, or has ended. @returns whether it has; false after a while */
    async awaitWarmStart({ run }: { readonly run: RunId }): Promise<{ readonly isOver: boolean }> {
      const isOver = await poll(async () => {
        const record = await store.runs.get(run)
        return record?.version !== undefined || record?.status !== 'running' ? true : undefined
      })
      return { isOver: isOver ?? false }
    },

    /** Waits until a run has ended. @returns null after a while */
    async awaitRun(request: {
      readonly run: RunId
      readonly workflowId: string
    }): Promise<{ readonly status: ExperimentRunEnding['status'] | null }> {
      const { run, workflowId } = request
      let lost = 0
      const status = await poll(async () => {
        const found = (await store.runs.get(run))?.status ?? 'lost'
        if (found !== 'running') return found
        const ending = await endingOf(Context.current().client, workflowId)
        lost = ending === undefined ? 0 : lost + 1
        return lost >= lostAfterLooks ? 'lost' : undefined
      })
      return { status: status ?? null }
    },

    /** Records that all runs have ended, or that the experiment goes on. */
    async recordExperiment(request: {
      readonly experiment: ExperimentName
      readonly hasEnded: boolean
    }): Promise<void> {
      await store.experiments.setEnded(request.experiment, request.hasEnded ? clock.now() : undefined)
    },
  })
}

/** Polls until there is a result; undefined after a while, or where the worker stops. */
async function poll<T>(look: () => Promise<T | undefined>): Promise<T | undefined> {
  const context = Context.current()
  const since = clock.monotonic()
  for (;;) {
    const seen = await look()
    if (seen !== undefined) return seen
    if (clock.monotonic() - since >= longestWaitMs) return undefined
    try {
      await context.sleep(lookEveryMs)
    } catch (error) {
      if (!(error instanceof CancelledFailure)) throw error
      return undefined
    }
  }
}
