/**
 * Settings of a task, as a user gives them.
 *
 * Invariants
 * - A setting that a task does not know or allow is refused, with its key and the values that are allowed.
 */
import { z } from 'zod'
import type { JsonObject } from '../../messages/message.ts'
import { EnvironmentFault } from './environment.ts'

/** How hard generated problems are; each task says what that means. */
export const difficulties = ['easy', 'normal', 'hard'] as const
export type Difficulty = (typeof difficulties)[number]
export const difficultySetting = z.enum(difficulties).default('normal')

/** A share, or a probability. */
export const shareSetting = z.number().min(0).max(1)

/** How long the system message of a task is. */
export const promptSetting = z
  .enum(['short', 'full'])
  .default('short')
  .describe('System message: one sentence, or the whole instruction for models that know no such task.')

/** Reads settings, and fills in what is not given. @throws EnvironmentFault bad_settings */
export function settingsOf<Schema extends z.ZodType>(
  task: string,
  schema: Schema,
  given: JsonObject | undefined,
): z.output<Schema> {
  const result = schema.safeParse(given ?? {})
  if (result.success) return result.data
  throw new EnvironmentFault('bad_settings', `settings of ${task}: ${z.prettifyError(result.error)}`, {
    cause: result.error,
  })
}
