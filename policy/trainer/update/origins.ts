/**
 * Origins of a batch's tokens: which version sampled them, and whether their turns were drawn from the pool; of each, how
 * far the policy that an update starts from is from it.
 *
 * Invariants
 * - Each token that was sampled has one origin, what was read has none; they stand by version, fresh before stale.
 */
import { type RatioSums, ratioSums } from '../../../learning/loss/ratio-statistics.ts'
import type { UpdateBatch } from '../batch.ts'
import type { TokenFigures } from './token-figures.ts'

/** The tokens of one origin. */
export interface OriginSums extends RatioSums {
  readonly version: number
  /** Whether their turns were drawn from the pool of older versions. */
  readonly stale: boolean
}

/** The origins of a batch. @param figures of its tokens under the policy that the update starts from */
export function originsOf(
  { versions, stale, lossMask }: Pick<UpdateBatch, 'versions' | 'stale' | 'lossMask'>,
  { logRatios }: Pick<TokenFigures, 'logRatios'>,
): OriginSums[] {
  const sampled = [...lossMask.keys()].filter((place) => lossMask[place] === 1)
  const places = Map.groupBy(sampled, (place) => `${versions[place]} ${stale?.[place] ?? 0}`)
  return [...places.values()]
    .map((own) => ({
      version: versions[own[0]!]!,
      stale: stale?.[own[0]!] === 1,
      ...ratioSums(own.map((place) => logRatios[place]!)),
    }))
    .sort((a, b) => a.version - b.version || Number(a.stale) - Number(b.stale))
}
