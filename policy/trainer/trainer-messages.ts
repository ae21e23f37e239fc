/** The messages between a trainer and its thread. */
import type { Trainer } from './trainer.ts'

type Method = Exclude<keyof Trainer, 'close' | 'losses'>

/** The methods that run in the thread; progress is what is done, of all. */
export type TrainingMethods = {
  readonly [Name in Method]: {
    readonly request: Parameters<Trainer[Name]>[0]
    readonly reply: Awaited<ReturnType<Trainer[Name]>>
    readonly progress: readonly [done: number, total: number]
  }
}

/** The data that the thread is started with. */
export interface TrainerWorkerData {
  readonly threads: number
}
