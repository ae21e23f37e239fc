/** What a trainer and its worker thread tell each other. */
import type { Trainer, TrainerFault } from './trainer.ts'

/** The methods that run in the worker thread. */
export type TrainerMethod = Exclude<keyof Trainer, 'close'>

export type MethodRequest<Method extends TrainerMethod> = Parameters<Trainer[Method]>[0]
export type MethodResult<Method extends TrainerMethod> = Awaited<ReturnType<Trainer[Method]>>

/** One call; calls are answered in order. */
export type TrainerCall = {
  readonly [Method in TrainerMethod]: {
    readonly call: number
    readonly method: Method
    readonly request: MethodRequest<Method>
  }
}[TrainerMethod]

/** What the worker thread reports of a call. */
export type TrainerReport = { readonly call: number } & (
  | { readonly report: 'progress'; readonly done: number; readonly total: number }
  | { readonly report: 'result'; readonly result: MethodResult<TrainerMethod> }
  | { readonly report: 'fault'; readonly kind: TrainerFault['kind']; readonly message: string }
)

/** What the worker thread is started with. */
export interface TrainerWorkerData {
  readonly threads: number
}
