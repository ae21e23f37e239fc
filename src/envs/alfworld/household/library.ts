/**
 * The built-in games as a library: splits, ids, sources.
 *
 * Invariants
 * - An id that a split gives can be opened; any other is an unknown instance.
 */
import type { InstanceId, Split } from '../../environment.ts'
import { EnvironmentFault } from '../../environment.ts'
import type { GameSource } from '../engine/game.ts'
import type { HouseholdSettings } from '../settings.ts'
import type { HouseholdSplit } from './generator.ts'
import { generateGame, householdSplits, largestSplit } from './generator.ts'

/** Games by split and id. */
export interface GameLibrary {
  readonly splits: readonly Split[]
  /** The index-th id of a split, modulo its size. @throws EnvironmentFault unknown_split */
  instanceAt(split: string, index: number): InstanceId
  /** @throws EnvironmentFault unknown_instance */
  source(instance: InstanceId): GameSource
}

const sizes: Readonly<Record<HouseholdSplit, number>> = {
  train: Number.POSITIVE_INFINITY,
  validation: 2000,
  test: 2000,
}

/** The generated games of these settings. */
export function openHousehold(settings: HouseholdSettings): GameLibrary {
  return {
    splits: householdSplits.map((name) => ({ name, size: sizes[name] })),
    instanceAt(split, index) {
      if (!isSplit(split))
        throw new EnvironmentFault(
          'unknown_split',
          `alfworld has no split "${split}": use ${householdSplits.join(', ')}`,
        )
      const size = Math.min(sizes[split], largestSplit)
      return `${split}/${((index % size) + size) % size}`
    },
    source(instance) {
      const [, split = '', digits = ''] = /^([a-z]+)\/(0|[1-9]\d{0,9})$/.exec(instance) ?? []
      const index = Number(digits)
      if (!isSplit(split) || digits === '' || index >= Math.min(sizes[split], largestSplit))
        throw new EnvironmentFault(
          'unknown_instance',
          `alfworld has no game "${instance.slice(0, 80)}": use train/N, or validation/N or test/N with N below ${sizes.test}`,
        )
      return generateGame(split, index, settings)
    },
  }
}

function isSplit(name: string): name is HouseholdSplit {
  return (householdSplits as readonly string[]).includes(name)
}
