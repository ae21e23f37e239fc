/**
 * The built-in games as a library: splits, ids, sources.
 *
 * Invariants
 * - An id that a split gives can be opened; any other is an unknown instance.
 */
import type { InstanceId, Split } from '../../environment.ts'
import { generatedInstances } from '../../generated-instances.ts'
import type { GameSource } from '../engine/game.ts'
import type { HouseholdSettings } from '../settings.ts'
import { generateGame } from './generator.ts'

/** Games by split and id. */
export interface GameLibrary {
  readonly splits: readonly Split[]
  /** The index-th id of a split, modulo its size. @throws EnvironmentFault unknown_split */
  instanceAt(split: string, index: number): InstanceId
  /** @throws EnvironmentFault unknown_instance */
  source(instance: InstanceId): GameSource
}

/** The generated games of these settings. */
export function openHousehold(settings: HouseholdSettings): GameLibrary {
  const { splits, instanceAt, placeOf } = generatedInstances('alfworld', 'game')
  return {
    splits,
    instanceAt,
    source(instance) {
      const { split, index } = placeOf(instance)
      return generateGame(split, index, settings)
    },
  }
}
