/** The messages between the trainer's thread and its gradient threads. */
import type { Architecture } from '../../transformer/architecture.ts'
import type { GraphKind } from '../../transformer/objective-graph.ts'
import type { Gradients } from './gradient-sum.ts'
import type { GraphWork, TokenResults } from './graph-sessions.ts'
import type { WeightTask } from './weight-task.ts'

/** A thread's share of a batch. Weights and sums are in shared memory; the thread changes its sums
 * alone, and begins them at zero. */
export interface ShareMessage {
  readonly share: number
  readonly architecture: Architecture
  readonly kind: GraphKind
  readonly weights: ReadonlyMap<string, Float32Array>
  readonly sums: Gradients | undefined
  readonly works: readonly GraphWork[]
}

/** A thread's part of a task. */
export interface TaskMessage {
  readonly share: number
  readonly task: WeightTask
}

/** The results of a share's works come run by run, in order. */
export type ShareReport = { readonly share: number } & (
  | { readonly report: 'results'; readonly results: readonly TokenResults[] }
  | { readonly report: 'task'; readonly numbers: readonly number[] }
  | { readonly report: 'fault'; readonly message: string }
)
