/**
 * Randomness of an instance.
 *
 * Invariants
 * - It comes from the names of environment and instance alone, never from a clock or a process.
 */
import { seedOf, uniforms } from '../../identity/identity.ts'
import type { InstanceId } from '../contract/environment.ts'

/** Randomness of one instance. */
export interface InstanceRandom {
  /** In [0, 1). */
  uniform(): number
  /** A whole number, both ends included. @throws RangeError ends that are no whole numbers in order */
  int(low: number, high: number): number
  /** One entry. @throws RangeError an empty list */
  pick<Entry>(list: readonly Entry[]): Entry
}

/** The randomness of an instance of an environment. */
export function instanceRandom(name: string, instance: InstanceId): InstanceRandom {
  const uniform = uniforms(seedOf(0, name, instance))
  const int = (low: number, high: number): number => {
    if (!(Number.isSafeInteger(low) && Number.isSafeInteger(high) && low <= high))
      throw new RangeError(`random.int(${low}, ${high}): expected whole numbers, the lower one first`)
    return low + Math.floor(uniform() * (high - low + 1))
  }
  return {
    uniform,
    int,
    pick: (list) => {
      if (list.length === 0) throw new RangeError('random.pick of an empty list')
      return list[int(0, list.length - 1)] as (typeof list)[number]
    },
  }
}
