/**
 * Measures: the numbers by which the episodes of a policy are judged.
 *
 * Invariants
 * - [MEASURE-1] A measure is a function of how an episode ended; its interval draws instances again, never samples.
 */
import { bootstrapInterval } from '../statistics/bootstrap.ts'
import type { Interval } from '../statistics/interval.ts'

/** The figures of an episode that ended with a reward. */
export interface MeasuredEpisode {
  readonly success: boolean
  readonly reward: number | null
  readonly turns: number
  readonly actionTokens: number
}

interface Measure {
  /** The name that tables and sentences give it. */
  readonly words: string
  readonly better: 'more' | 'fewer'
  /** A share is written in percent, and its differences in points. */
  readonly isShare: boolean
  readonly of: (episode: MeasuredEpisode) => number
}

/** All measures, in the order in which they are reported. */
export const measures = {
  success: { words: 'success', better: 'more', isShare: true, of: ({ success }) => (success ? 1 : 0) },
  reward: { words: 'mean reward', better: 'more', isShare: false, of: ({ reward }) => reward ?? 0 },
  turns: { words: 'turns', better: 'fewer', isShare: false, of: ({ turns }) => turns },
  tokens: { words: 'tokens', better: 'fewer', isShare: false, of: ({ actionTokens }) => actionTokens },
} as const satisfies Record<string, Measure>

export type MeasureName = keyof typeof measures
export const measureNames = Object.keys(measures) as MeasureName[]

export interface Estimate extends Interval {
  readonly value: number
}

/** The mean of each measure over episodes, with its 95 % interval; success has its own. */
export type MeasureFigures = Readonly<Record<Exclude<MeasureName, 'success'>, Estimate>>

/**
 * @param instances [instances][samples] one episode at least
 * @param seed 32 bits, of the draws
 */
export function measureFigures(
  instances: readonly (readonly MeasuredEpisode[])[],
  seed: number,
): MeasureFigures {
  const sizes = instances.map((episodes) => episodes.length)
  const meanOf = (name: MeasureName): Estimate => {
    const sums = instances.map((episodes) => sum(episodes.map(measures[name].of)))
    return meanEstimate(sums, sizes, seed)
  }
  return { reward: meanOf('reward'), turns: meanOf('turns'), tokens: meanOf('tokens') }
}

/** Σ sums / Σ sizes with the percentile interval of the bootstrap over instances. @param sums, sizes [instances] */
export function meanEstimate(sums: readonly number[], sizes: readonly number[], seed: number): Estimate {
  const value = sum(sums) / sum(sizes)
  const drawn = (draw: () => number) => {
    let [above, below] = [0, 0]
    for (let i = 0; i < sums.length; i++) {
      const chosen = draw()
      above += sums[chosen] ?? 0
      below += sizes[chosen] ?? 0
    }
    return above / below
  }
  return { value, ...bootstrapInterval(value, drawn, { instances: sums.length, seed }) }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
