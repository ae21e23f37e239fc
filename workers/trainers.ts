/**
 * The trainers of a process, one for each way in which its runs want to be trained.
 *
 * Invariants
 * - Runs that ask for the same trainer and number of threads share a trainer.
 * - A trainer is made when a run first needs it; `closeAll` closes those that were made.
 */
import type { RunConfig } from '../config/schema/schema.ts'
import { createTrainer } from '../policy/trainer/embedded.ts'
import { createProcessTrainer } from '../policy/trainer/foreign/examined-trainer.ts'
import { createModuleTrainer } from '../policy/trainer/foreign/module-trainer.ts'
import type { Trainer } from '../policy/trainer/trainer.ts'

/** Settings of a run's trainer. */
export type TrainerSettings = Pick<RunConfig['policy'], 'threads' | 'trainer' | 'trainerStallSeconds'>

/** Makes the trainer of such settings. */
export type CreateTrainer = (settings: TrainerSettings) => Trainer

export interface Trainers {
  of(settings: TrainerSettings): Trainer
  closeAll(): Promise<void>
}

/** @param create makes a trainer; by default the embedded one, or that of the module or command which the run names */
export function createTrainers(create: CreateTrainer = configuredTrainer): Trainers {
  const made = new Map<string, Trainer>()
  return {
    of({ threads, trainer, trainerStallSeconds }) {
      const key = JSON.stringify([threads, trainer, trainerStallSeconds])
      const known = made.get(key)
      if (known !== undefined) return known
      const found = create({ threads, trainer, trainerStallSeconds })
      made.set(key, found)
      return found
    },
    async closeAll() {
      const all = [...made.values()]
      made.clear()
      await Promise.all(all.map((trainer) => trainer.close()))
    },
  }
}

function configuredTrainer({ threads, trainer, trainerStallSeconds }: TrainerSettings): Trainer {
  const watched = { threads, stallMs: trainerStallSeconds * 1000 }
  const embedded = createTrainer(watched)
  if (trainer === 'embedded') return embedded
  return typeof trainer === 'string'
    ? createModuleTrainer({ path: trainer, ...watched }, embedded)
    : createProcessTrainer({ command: trainer, ...watched }, embedded)
}
