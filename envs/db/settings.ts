/**
 * Settings of the database task: where databases run, what statements may cost, how hard built-in ones are.
 *
 * Invariants
 * - Every setting has a default; empty settings are valid ones.
 * - A password in a URL is never part of a message.
 */
import { z } from 'zod'
import type { JsonObject } from '../../messages/message.ts'
import { difficultySetting, promptSetting, settingsOf } from '../contract/task-settings.ts'

const settingsSchema = z.strictObject({
  url: z
    .string()
    .regex(/^(mysql|mariadb):\/\//, 'expected mysql://USER:PASSWORD@HOST:PORT')
    .optional()
    .describe(
      'MySQL or MariaDB server to use in place of the embedded databases; its user makes databases and users.',
    ),
  difficulty: difficultySetting.describe('Built-in problems: sizes of tables and kinds of questions.'),
  prompt: promptSetting,
  deadlineSeconds: z.number().min(0.01).max(600).default(5).describe('Time that a statement may take.'),
  rows: z.int().min(1).max(100_000).default(1000).describe('Rows of a result that are read at most.'),
})

/** Settings of the database task, complete. */
export type DbSettings = z.infer<typeof settingsSchema>

/** Fills in what is not given. @throws EnvironmentFault bad_settings, naming key and allowed values */
export function readSettings(settings: JsonObject | undefined): DbSettings {
  return settingsOf('db', settingsSchema, settings)
}
