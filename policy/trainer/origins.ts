/**
 * Origins of a batch's tokens: which version sampled them, and whether their turns were drawn from the pool; of each, how
 * far the policy is from it.
 *
 * Invariants
 * - Each token that was sampled has one origin, what was read has none; they stand by version, fresh before stale.
 */
import { mergedRatios, type RatioSums, ratioSums } from '../../learning/ratio-statistics.ts'
import type { UpdateBatch } from './batch.ts'
import type { TokenResults } from './graph-sessions.ts'
import { type MicroBatch, sampledRows } from './micro-batch.ts'

/** The tokens of one origin. */
export interface OriginSums extends RatioSums {
  readonly version: number
  /** Whether their turns were drawn from the pool of older versions. */
  readonly stale: boolean
}

export class Origins {
  readonly #batch: UpdateBatch
  readonly #logRatios = new Map<string, { version: number; stale: boolean; logRatios: number[] }>()

  constructor(batch: UpdateBatch) {
    this.#batch = batch
  }

  /** Takes in what a run of the graph gave for a micro-batch. */
  add(micro: MicroBatch, { logprobs }: TokenResults): void {
    const { versions, behaviourLogprobs, stale: staleTokens } = this.#batch
    for (const [row, source] of sampledRows(this.#batch, micro)) {
      const version = versions[source]!
      const stale = staleTokens?.[source] === 1
      const key = `${version} ${stale}`
      const known = this.#logRatios.get(key) ?? { version, stale, logRatios: [] }
      known.logRatios.push(logprobs[row]! - behaviourLogprobs[source]!)
      this.#logRatios.set(key, known)
    }
  }

  sums(): OriginSums[] {
    return [...this.#logRatios.values()]
      .sort((a, b) => a.version - b.version || Number(a.stale) - Number(b.stale))
      .map(({ version, stale, logRatios }) => ({ version, stale, ...ratioSums(logRatios) }))
  }
}

/** Origins of several batches as of one. */
export function mergedOrigins(origins: readonly OriginSums[]): OriginSums[] {
  const found = Map.groupBy(origins, ({ version, stale }) => `${version} ${stale}`)
  return [...found.values()]
    .flatMap((parts) => {
      const [first] = parts
      if (first === undefined) return []
      return [{ version: first.version, stale: first.stale, ...mergedRatios(parts) }]
    })
    .sort((a, b) => a.version - b.version || Number(a.stale) - Number(b.stale))
}
