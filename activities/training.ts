/**
 * Training activities: preparing the policy, imitating demonstrations, updating by reward.
 *
 * Invariants
 * - [TRAIN-1] Each result lies under the identity of its work: doing it twice gives the same, or finds it there.
 */
import { Context } from '@temporalio/activity'
import type { RunId } from '../identity/identity.ts'
import type { CheckpointCache } from '../policy/checkpoints/checkpoint-cache.ts'
import type { Trainer } from '../policy/trainer/trainer.ts'
import { createRunDirectory, type Home } from '../storage/home.ts'
import type { Store } from '../storage/store.ts'
import { failing } from './failure.ts'
import type { OpenRuns } from './open-runs.ts'
import { type UpdateRequest, type UpdateResult, updatePolicy } from './policy-update.ts'
import { type Imitation, imitate, prepareWarmStart } from './warm-start.ts'
import { tellProgress } from './wrapping.ts'

/** What a heartbeat tells of a training activity. */
export interface TrainingPhase {
  readonly phase: 'demonstrations' | 'imitation' | 'update'
  readonly done: number
  readonly total: number
}

interface Dependencies {
  readonly home: Home
  readonly store: Store
  readonly runs: OpenRuns
  /** The trainer whose steps take so many threads. */
  readonly trainerOf: (threads: number) => Trainer
  /** Where warm starts are kept that other runs may take; undefined: each is made. */
  readonly warmStarts?: CheckpointCache | undefined
  readonly log: (line: string) => void
}

export type TrainingActivities = ReturnType<typeof createTrainingActivities>

export function createTrainingActivities(dependencies: Dependencies) {
  const { home, store, runs, trainerOf, warmStarts, log } = dependencies
  return failing({
    /** Tokenizer, first weights and demonstrations of a run. */
    async preparePolicy({ run }: { readonly run: RunId }): Promise<void> {
      const opened = await runs.get(run)
      createRunDirectory(home, run)
      const { cancellationSignal } = Context.current()
      await prepareWarmStart(opened, progressOf('demonstrations'), cancellationSignal)
    },

    /** One part of the supervised warm start; the last one makes version 0, and so does finding it. */
    async imitateDemonstrations(request: {
      readonly run: RunId
      readonly chunk: number
    }): Promise<Imitation> {
      const { run, chunk } = request
      const tools = { trainerOf, cache: warmStarts, onProgress: progressOf('imitation'), log }
      return imitate(await runs.get(run), chunk, tools)
    },

    /** One update by the policy objective. */
    async updatePolicy(request: UpdateRequest): Promise<UpdateResult> {
      const tools = { store, trainerOf, onProgress: progressOf('update'), log }
      return updatePolicy(request, await runs.get(request.run), tools)
    },
  })
}

/** Tells of each advance of a phase. */
function progressOf(phase: TrainingPhase['phase']) {
  return (done: number, total: number): void => {
    const details: TrainingPhase = { phase, done, total }
    tellProgress(details)
  }
}
