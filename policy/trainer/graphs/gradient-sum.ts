/**
 * A sum of gradients over micro-batches, one array per weight.
 *
 * Invariants
 * - Micro-batches are added in the order in which they are given; threads sum apart, and their sums are added in
 *   the threads' order, so that which of them was faster changes nothing.
 * - The arrays' memory is shared: a thread adds to its part in place.
 */
import type { Tensor } from '../../graph/runtime.ts'
import { type Architecture, elementCount, weightSpecs } from '../../transformer/architecture.ts'
import { embeddedGradientName, gradientName } from '../../transformer/objective-graph.ts'

/** Weights up to this many bytes have a sum of gradients for each thread. */
const summedApart = 64 * 2 ** 20

/** Whether each thread computes micro-batches of its own, with a sum of its own. */
export function isSummedApart(architecture: Architecture): boolean {
  const weights = weightSpecs(architecture).reduce((sum, { shape }) => sum + elementCount(shape), 0)
  return weights * Float32Array.BYTES_PER_ELEMENT <= summedApart
}

/** Gradients by weight. */
export type Gradients = ReadonlyMap<string, Float32Array>

/** A weight's sum of gradients, and what other threads have summed for it. */
export interface ThreadSums {
  readonly whole: Float32Array
  readonly others: readonly Float32Array[]
}

export class GradientSum {
  readonly #architecture: Architecture
  /** Sum of squares of each gradient, in the order of `gradients`, of the last sum. */
  squares: readonly number[] = []
  /** The sum of each thread; the first is the whole once the threads' sums were added up. */
  readonly #parts: [Gradients, ...Gradients[]]

  constructor(architecture: Architecture) {
    this.#architecture = architecture
    this.#parts = [zeros(architecture)]
  }

  get gradients(): Gradients {
    return this.#parts[0]
  }

  /** The sum that a thread adds to; the threads count from 0. */
  part(thread: number): Gradients {
    while (this.#parts.length <= thread) this.#parts.push(zeros(this.#architecture))
    return this.#parts[thread] as Gradients
  }

  /** For each weight the sums of that many threads. */
  sumsOf(threads: number): readonly ThreadSums[] {
    const others = this.#parts.slice(1, threads)
    return [...this.gradients].map(([name, whole]) => ({
      whole,
      others: others.map((part) => part.get(name) as Float32Array),
    }))
  }
}

/** Sets every gradient to zero. */
export function clear(gradients: Gradients): void {
  for (const gradient of gradients.values()) gradient.fill(0)
}

/** A copy whose memory threads share. */
export function shared(data: Float32Array): Float32Array {
  const copy = new Float32Array(new SharedArrayBuffer(data.byteLength))
  copy.set(data)
  return copy
}

function zeros(architecture: Architecture): Gradients {
  return new Map(
    weightSpecs(architecture).map(({ name, shape }) => [name, shared(new Float32Array(elementCount(shape)))]),
  )
}

/**
 * Puts what a run gave in the place of the sums that it continued.
 * @param tokens of the run, whose rows of the embedding get their gradients
 */
export function keepGradients(
  sums: Gradients,
  results: Readonly<Record<string, Tensor>>,
  { data: tokens }: Tensor<'int64'>,
): void {
  for (const [name, sum] of sums) sum.set((results[gradientName(name)] as Tensor<'float32'>).data)
  const { data: rows, dims } = results[embeddedGradientName] as Tensor<'float32'>
  const width = dims[1] as number
  const embedding = sums.get('model.embed_tokens.weight') as Float32Array
  for (let row = 0; row < tokens.length; row++) {
    const target = Number(tokens[row]) * width
    const source = row * width
    for (let i = 0; i < width; i++) embedding[target + i]! += rows[source + i]!
  }
}
