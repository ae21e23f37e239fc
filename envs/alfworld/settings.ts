/**
 * Settings of the household task: how hard its generated games are and what the agent is shown.
 *
 * Invariants
 * - Every setting has a default; empty settings are valid ones.
 * - A range that is given wins over the one of the difficulty.
 */
import { z } from 'zod'
import type { JsonObject } from '../../messages/message.ts'
import { difficultySetting, promptSetting, settingsOf, shareSetting } from '../contract/task-settings.ts'
import type { Search } from './expert.ts'

/** Kinds of errands, as ALFWorld has them. */
export const errands = ['place', 'light', 'clean', 'heat', 'cool', 'two'] as const
export type Errand = (typeof errands)[number]

/** Both ends belong to the range. */
export interface Range {
  readonly min: number
  readonly max: number
}

function rangeSchema(min: number, max: number) {
  return z
    .strictObject({ min: z.int().min(min).max(max), max: z.int().min(min).max(max) })
    .refine((range) => range.min <= range.max, 'min is greater than max')
    .optional()
}

const settingsSchema = z.strictObject({
  difficulty: difficultySetting.describe('Sizes of generated homes, where the ranges below are not given.'),
  rooms: rangeSchema(1, 4).describe('Rooms of a generated home.'),
  receptacles: rangeSchema(5, 20).describe('Pieces of furniture of a generated home.'),
  objects: rangeSchema(2, 24).describe('Things in a generated home, those of the errand included.'),
  tasks: z
    .array(z.enum(errands))
    .min(1)
    .default([...errands])
    .describe('Kinds of errands of generated games, taken in turn.'),
  unseenGoals: z
    .number()
    .min(0)
    .max(0.5)
    .default(0)
    .describe(
      'Share of the things of each errand that only the generated games of the split `unseen` ask for. 0: there is no such split.',
    ),
  rearranged: shareSetting
    .default(0)
    .describe(
      'Share of the official games of the split `rearranged` whose homes are rearranged. That split repeats `train` without an end, each time in other homes. 0: there is no such split.',
    ),
  commandCost: shareSetting
    .default(0)
    .describe('Reward that each command takes from a game that is won: 0.04 pays 0.8 for one won with five.'),
  showAdmissible: z.boolean().default(false).describe('Whether answers list the commands that work now.'),
  prompt: promptSetting,
  demonstrations: z
    .enum(['expert', 'walkthrough'])
    .default('expert')
    .describe('`expert` explores as an agent must; `walkthrough` (official games) knows where things are.'),
  search: z
    .enum(['likely', 'any'])
    .default('likely')
    .describe(
      'Where the expert looks first: `likely`, where such a thing often is; `any`, anywhere, as in a home that it does not know.',
    ),
  demonstrationTurns: z
    .int()
    .min(1)
    .default(40)
    .describe('Turns after which the expert gives an instance up.'),
  slips: shareSetting
    .default(0)
    .describe(
      'Probability of a command that fails before one of the expert: how to continue is imitated, the slip is not.',
    ),
  strays: shareSetting
    .default(0)
    .describe(
      'Probability of a command that works and that the expert would not give, before one of its own: how to find back is imitated.',
    ),
  thoughts: z
    .boolean()
    .default(false)
    .describe(
      'Whether the expert says before each command what is asked for and how far it is, so that the policy learns to say it too.',
    ),
})

const homes = {
  easy: { rooms: { min: 1, max: 1 }, receptacles: { min: 5, max: 5 }, objects: { min: 3, max: 5 } },
  normal: { rooms: { min: 1, max: 2 }, receptacles: { min: 5, max: 8 }, objects: { min: 5, max: 8 } },
  hard: { rooms: { min: 3, max: 4 }, receptacles: { min: 10, max: 16 }, objects: { min: 10, max: 18 } },
} as const

/** Settings of the household task, complete. */
export interface HouseholdSettings {
  readonly rooms: Range
  readonly receptacles: Range
  readonly objects: Range
  readonly tasks: readonly Errand[]
  readonly unseenGoals: number
  readonly rearranged: number
  readonly commandCost: number
  readonly showAdmissible: boolean
  readonly prompt: 'short' | 'full'
  readonly demonstrations: 'expert' | 'walkthrough'
  readonly search: Search
  readonly demonstrationTurns: number
  readonly slips: number
  readonly strays: number
  readonly thoughts: boolean
}

/** Fills in what is not given. @throws EnvironmentFault bad_settings, naming key and allowed values */
export function readSettings(settings: JsonObject | undefined): HouseholdSettings {
  const { difficulty, rooms, receptacles, objects, ...rest } = settingsOf(
    'alfworld',
    settingsSchema,
    settings,
  )
  const home = homes[difficulty]
  return {
    ...rest,
    rooms: rooms ?? home.rooms,
    receptacles: receptacles ?? home.receptacles,
    objects: objects ?? home.objects,
  }
}
