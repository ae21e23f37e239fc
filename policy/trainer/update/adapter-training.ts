/**
 * An adapter in training: its weights and gradients, and the policy's weights that follow from them.
 *
 * Invariants
 * - [ADAPTER-TRAINING-1] Nothing but the adapter changes: after each step the weights that have one are merged from the base again, as a
 *   reader of the checkpoint merges them, and the others stay.
 * - Arrays are in shared memory.
 */
import type { CheckpointAdapter } from '../../checkpoints/checkpoint.ts'
import { adapterGradients, mergedWeights } from '../../transformer/adapter.ts'
import type { Architecture, Weights } from '../../transformer/architecture.ts'
import { type Gradients, shared } from '../graphs/gradient-sum.ts'
import { squares } from './adamw.ts'

export class AdapterTraining {
  /** The published adapter; training changes its arrays. */
  readonly adapter: CheckpointAdapter
  readonly gradients: Gradients
  readonly #architecture: Architecture
  /** The weights of the policy, changed in place. */
  readonly #merged: Weights

  constructor(architecture: Architecture, adapter: CheckpointAdapter, merged: Weights) {
    const entries = [...adapter.weights]
    this.adapter = { ...adapter, weights: new Map(entries.map(([name, data]) => [name, shared(data)])) }
    this.gradients = new Map(entries.map(([name, { length }]) => [name, shared(new Float32Array(length))]))
    this.#architecture = architecture
    this.#merged = merged
  }

  /** Takes the gradients of the policy's weights. @returns the sum of squares of each of the adapter's */
  collect(ofPolicy: Gradients): readonly number[] {
    adapterGradients(this.#architecture, this.adapter, ofPolicy, this.gradients)
    return [...this.gradients.values()].map(squares)
  }

  merge(): void {
    mergedWeights(this.#architecture, this.adapter.baseWeights, this.adapter, this.#merged)
  }
}
