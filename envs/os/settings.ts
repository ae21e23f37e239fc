/**
 * Settings of the OS task: how hard its generated problems are, what the agent is told, and where
 * official items run.
 *
 * Invariants
 * - Every setting has a default; empty settings are valid ones.
 */
import { z } from 'zod'
import type { JsonObject } from '../../messages/message.ts'
import { promptSetting, settingsOf } from '../task-settings.ts'
import { needs } from './item.ts'

/** How much a generated problem asks for. */
export const levels = ['easy', 'normal', 'hard'] as const
export type Level = (typeof levels)[number]

/** What generated problems are about. */
export const subjects = ['files', 'text', 'permissions', 'processes'] as const
export type Subject = (typeof subjects)[number]

const settingsSchema = z.strictObject({
  levels: z
    .array(z.enum(levels))
    .min(1)
    .default([...levels])
    .describe('Difficulties of generated problems, taken in turn.'),
  subjects: z
    .array(z.enum(subjects))
    .min(1)
    .default([...subjects])
    .describe('What generated problems are about.'),
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
    .describe('Image for official items; by default one for each item is built, see docs/tasks-os.md.'),
  needs: z
    .array(z.enum(needs))
    .default([])
    .describe(
      'What the items of the data folder may do beyond the defaults, besides what each names: setuid.',
    ),
})

/** Settings of the OS task, complete. */
export type OsSettings = z.output<typeof settingsSchema>

/** Fills in what is not given. @throws EnvironmentFault bad_settings, naming key and allowed values */
export function readSettings(settings: JsonObject | undefined): OsSettings {
  return settingsOf('os', settingsSchema, settings)
}
