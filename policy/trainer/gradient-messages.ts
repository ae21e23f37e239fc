/** What the trainer's thread and its gradient threads tell each other. */
import type { Architecture } from '../transformer/architecture.ts'
import type { GraphKind } from '../transformer/objective-graph.ts'
import type { Gradients } from './gradient-sum.ts'
import type { GraphWork, TokenResults } from './graph-sessions.ts'

/** A thread's share of a batch. Weights and sums are in shared memory; the thread changes its sums alone. */
export interface ShareMessage {
  readonly share: number
  readonly architecture: Architecture
  readonly kind: GraphKind
  readonly weights: ReadonlyMap<string, Float32Array>
  readonly sums: Gradients | undefined
  readonly works: readonly GraphWork[]
}

/** The results of a share's works come run by run, in order. */
export type ShareReport = { readonly share: number } & (
  | { readonly report: 'results'; readonly results: readonly TokenResults[] }
  | { readonly report: 'fault'; readonly message: string }
)
