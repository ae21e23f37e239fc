/**
 * The trainers of a process, one for each number of threads that its runs ask for.
 *
 * Invariants
 * - Runs that ask for the same number of threads share a trainer.
 * - A trainer is made when a run first needs it; `closeAll` closes those that were made.
 */
import type { Trainer } from '../policy/trainer/trainer.ts'

/** Makes a trainer whose steps take so many threads. */
export type CreateTrainer = (threads: number) => Trainer

export interface Trainers {
  of(threads: number): Trainer
  closeAll(): Promise<void>
}

export function createTrainers(create: CreateTrainer): Trainers {
  const made = new Map<number, Trainer>()
  return {
    of(threads) {
      const known = made.get(threads)
      if (known !== undefined) return known
      const trainer = create(threads)
      made.set(threads, trainer)
      return trainer
    },
    async closeAll() {
      const all = [...made.values()]
      made.clear()
      await Promise.all(all.map((trainer) => trainer.close()))
    },
  }
}
