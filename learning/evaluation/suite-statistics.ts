/**
 * Estimates of a policy from a suite's episodes: success, pass@k, and how far both may be off.
 *
 * Invariants
 * - An interval lies within [0, 1] and contains what was measured.
 * - Samples of one instance are not taken for independent trials: instances are what is drawn again.
 * - The same episodes and seed give the same figures.
 */
import { wilsonInterval } from '../statistics/interval.ts'
import { passAtK } from '../statistics/pass-at-k.ts'
import { type Estimate, meanEstimate } from './measure.ts'

/** The samples of one instance that ended with a reward. */
export interface InstanceSamples {
  readonly samples: number
  readonly successes: number
}

export interface SuiteStatistics {
  readonly instances: number
  /** Samples of each instance at most. */
  readonly samples: number
  /** Share of all episodes that succeeded, with its 95 % interval. */
  readonly success: Estimate
  /** By k: 1, 2, 4, … and the number of samples; only where instances have several. */
  readonly passAt: Readonly<Record<string, Estimate>>
}

/**
 * @param instances [instances] those without any sample are left out
 * @param seed 32 bits, of the draws
 * @throws RangeError no instance has a sample
 */
export function suiteStatistics(instances: readonly InstanceSamples[], seed: number): SuiteStatistics {
  const played = instances.filter(({ samples }) => samples > 0)
  const samples = Math.max(0, ...played.map((instance) => instance.samples))
  if (samples === 0)
    throw new RangeError('a suite without any sample has no statistics, expected at least one')
  const successes = played.map((instance) => instance.successes)
  const sizes = played.map((instance) => instance.samples)
  const passAt: Record<string, Estimate> = {}
  for (const k of samples > 1 ? choices(samples) : []) {
    const enough = played.filter((instance) => instance.samples >= k)
    const values = enough.map((instance) => passAtK(instance.samples, instance.successes, k))
    passAt[k] = ratio(
      values,
      values.map(() => 1),
      seed,
    )
  }
  const success =
    samples === 1
      ? { value: sum(successes) / played.length, ...wilsonInterval(sum(successes), played.length) }
      : ratio(successes, sizes, seed)
  return { instances: played.length, samples, success, passAt }
}

/** @example choices(12) // [1, 2, 4, 8, 12] */
function choices(samples: number): readonly number[] {
  const powers: number[] = []
  for (let k = 1; k < samples; k *= 2) powers.push(k)
  return [...powers, samples]
}

/**
 * Σ numerators / Σ sizes with the percentile interval of the bootstrap over instances, 95 %. Where all instances
 * agree the bootstrap knows no spread: then it is Wilson's with the instances as trials.
 * @param numerators [instances], @param sizes [instances]
 */
function ratio(numerators: readonly number[], sizes: readonly number[], seed: number): Estimate {
  const n = numerators.length
  const value = sum(numerators) / sum(sizes)
  const agree = numerators.every((numerator, i) => numerator / (sizes[i] ?? 1) === value)
  if (agree) return { value, ...wilsonInterval(value * n, n) }
  return meanEstimate(numerators, sizes, seed)
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
