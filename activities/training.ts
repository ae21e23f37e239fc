/**
 * Training activities: preparing the policy, imitating demonstrations, updating by reward.
 *
 * Invariants
 * - Each makes the folders of its run that were removed.
 * - [TRAIN-1] Each result lies under the identity of its work: doing it twice gives the same, or finds it there.
 */
import { Context } from '@temporalio/activity'
import { refuseRemovedInUse } from '../config/files/stored-config.ts'
import type { RunConfig } from '../config/schema/schema.ts'
import type { RunId } from '../identity/identity.ts'
import type { CheckpointCache } from '../policy/checkpoints/checkpoint-cache.ts'
import type { Trainer } from '../policy/trainer/trainer.ts'
import { checkOffer } from '../policy/trainer/update/losses.ts'
import { createRunDirectory, type Home } from '../storage/disk/home.ts'
import type { Store } from '../storage/store.ts'
import { failing } from './calls/failure.ts'
import { reportProgress } from './calls/wrapping.ts'
import type { OpenRun, OpenRuns } from './stored/open-runs.ts'
import { lossChoices } from './update/loss-choices.ts'
import { type UpdateRequest, type UpdateResult, updatePolicy } from './update/policy-update.ts'
import { measureExperts } from './warm-start/experts.ts'
import { type Imitation, imitate, prepareWarmStart } from './warm-start/warm-start.ts'

/** Progress of a training activity, in its heartbeat. */
export interface TrainingPhase {
  readonly phase: 'experts' | 'demonstrations' | 'corrections' | 'imitation' | 'update'
  readonly done: number
  readonly total: number
}

/** Facts about the tasks of a run, found before it begins. */
export interface Prepared {
  /** Instances of the split that each task trains on; null without an end. */
  readonly sizes: readonly (number | null)[]
}

interface Dependencies {
  readonly home: Home
  readonly store: Store
  readonly runs: OpenRuns
  /** The trainer that a policy's settings name. */
  readonly trainerOf: (settings: RunConfig['policy']) => Trainer
  /** Where warm starts are kept that other runs may take; undefined: each is made. */
  readonly warmStarts?: CheckpointCache | undefined
  readonly log: (line: string) => void
}

export type TrainingActivities = ReturnType<typeof createTrainingActivities>

export function createTrainingActivities(dependencies: Dependencies) {
  const { home, store, runs, trainerOf, warmStarts, log } = dependencies
  return failing({
    /** Experts' results on the suites; tokenizer, first weights and demonstrations of a run, whose trainer meets its demands. */
    async preparePolicy({ run }: { readonly run: RunId }): Promise<Prepared> {
      const opened = await runs.get(run)
      createRunDirectory(home, run)
      await checkOffer(await lossChoices(opened.config), trainerOf(opened.config.policy))
      const { cancellationSignal: signal } = Context.current()
      await measureExperts(opened, store.experts, { onProgress: progressOf('experts'), signal, report: log })
      await prepareWarmStart(opened, progressOf('demonstrations'), signal, log)
      return { sizes: await splitSizes(opened) }
    },

    /** One part of the supervised warm start; the last one makes version 0, and so does finding it. */
    async imitateDemonstrations(request: {
      readonly run: RunId
      readonly chunk: number
    }): Promise<Imitation> {
      const { run, chunk } = request
      createRunDirectory(home, run)
      const { cancellationSignal: signal } = Context.current()
      const progress = {
        onProgress: progressOf('imitation'),
        onDemonstration: progressOf('demonstrations'),
        onCorrection: progressOf('corrections'),
      }
      const tools = { trainerOf, cache: warmStarts, ...progress, signal, log }
      return imitate(await runs.get(run), chunk, tools)
    },

    /** One update by the policy objective. */
    async updatePolicy(request: UpdateRequest): Promise<UpdateResult> {
      const signal = Context.current().cancellationSignal
      createRunDirectory(home, request.run)
      refuseRemovedInUse(`run ${request.run}`, (await store.runs.get(request.run))?.config)
      const tools = { store, trainerOf, onProgress: progressOf('update'), signal, log }
      return updatePolicy(request, await runs.get(request.run), tools)
    },
  })
}

async function splitSizes({ config, task }: OpenRun): Promise<(number | null)[]> {
  return Promise.all(
    config.tasks.map(async ({ split: wanted }, index) => {
      const { splits } = (await task(index)).task
      const size = splits.find(({ name }) => name === wanted)?.size ?? Number.POSITIVE_INFINITY
      return Number.isFinite(size) ? size : null
    }),
  )
}

/** Reports each advance of a phase in the heartbeat. */
function progressOf(phase: TrainingPhase['phase']) {
  return (done: number, total: number): void => {
    const details: TrainingPhase = { phase, done, total }
    reportProgress(details)
  }
}
