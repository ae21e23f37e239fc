/**
 * Settings of the OS task: how hard its generated problems are, which prompt the agent gets, and where
 * official items run.
 *
 * Invariants
 * - Every setting has a default; empty settings are valid ones.
 * - Levels that are given win over those of the difficulty.
 */
import { z } from 'zod'
import type { JsonObject } from '../../messages/message.ts'
import {
  type Difficulty,
  difficulties,
  difficultySetting,
  promptSetting,
  settingsOf,
} from '../contract/task-settings.ts'
import { needs } from './item.ts'

/** How much a kind of generated problems asks for. */
export const levels = difficulties
export type Level = Difficulty

/** The subjects of generated problems. */
export const subjects = ['files', 'text', 'permissions', 'processes'] as const
export type Subject = (typeof subjects)[number]

const settingsSchema = z.strictObject({
  difficulty: difficultySetting.describe(
    'Generated problems: `easy` and `hard` are of that level alone, `normal` is of all levels in turn.',
  ),
  levels: z
    .array(z.enum(levels))
    .min(1)
    .optional()
    .describe('Levels of generated problems, taken in turn; by default those of the difficulty.'),
  subjects: z
    .array(z.enum(subjects))
    .min(1)
    .default([...subjects])
    .describe('The subjects of generated problems.'),
  prompt: promptSetting,
  threads: z.int().min(1).max(64).default(2).describe('Threads that the shells of generated problems share.'),
  scriptSeconds: z
    .number()
    .positive()
    .max(600)
    .default(30)
    .describe('Seconds after which a script of the agent is stopped.'),
  image: z
    .string()
    .min(1)
    .optional()
    .describe('Image for official items; by default one for each item is built, see docs/containers.md.'),
  needs: z
    .array(z.enum(needs))
    .default([])
    .describe(
      'Permissions of all items of the data folder beyond the defaults and beyond those that each item names: setuid.',
    ),
})

/** Settings of the OS task, complete. */
export type OsSettings = Omit<z.output<typeof settingsSchema>, 'difficulty' | 'levels'> & {
  readonly levels: readonly Level[]
}

const levelsOf: Readonly<Record<Difficulty, readonly Level[]>> = {
  easy: ['easy'],
  normal: levels,
  hard: ['hard'],
}

/** Fills in what is not given. @throws EnvironmentFault bad_settings, naming key and allowed values */
export function readSettings(settings: JsonObject | undefined): OsSettings {
  const { difficulty, levels: given, ...rest } = settingsOf('os', settingsSchema, settings)
  return { ...rest, levels: given ?? levelsOf[difficulty] }
}
