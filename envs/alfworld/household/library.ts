/** The built-in games: an id that a split gives can be opened; any other is an unknown instance. */

import type { GameSource } from '../../../worlds/text-adventure/game.ts'
import type { Library } from '../../contract/library.ts'
import { generatedLibrary } from '../../generated/generated-instances.ts'
import type { HouseholdSettings } from '../settings.ts'
import { generateGame, unseenSplit } from './generator.ts'

/** The generated games of these settings. */
export function openHousehold(settings: HouseholdSettings): Library<GameSource> {
  const others: readonly (typeof unseenSplit)[] = settings.unseenGoals === 0 ? [] : [unseenSplit]
  return generatedLibrary('alfworld', 'game', (split, index) => generateGame(split, index, settings), {
    others,
  })
}
