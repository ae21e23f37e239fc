/**
 * Settings of the BFCL suite.
 *
 * Invariants
 * - Every setting has a default; empty settings are valid ones.
 */
import { z } from 'zod'
import type { JsonObject } from '../environment.ts'
import { EnvironmentFault } from '../environment.ts'
import { promptForms } from './prompt.ts'

const settingsSchema = z.strictObject({
  prompt: z
    .enum(promptForms)
    .default('short')
    .describe('System message; `none` is the official function-calling mode.'),
  tools: z
    .enum(['official', 'short'])
    .default('official')
    .describe('Descriptions of tools: as published, or without the preface that all tools of a class share.'),
  python: z.string().min(1).optional().describe('Python 3.10 or newer; `python3` by default.'),
})

export type BfclSettings = z.output<typeof settingsSchema>

/** Fills in what is not given. @throws EnvironmentFault bad_settings, naming key and allowed values */
export function readSettings(settings: JsonObject | undefined): BfclSettings {
  const result = settingsSchema.safeParse(settings ?? {})
  if (result.success) return result.data
  throw new EnvironmentFault('bad_settings', `settings of bfcl: ${z.prettifyError(result.error)}`, {
    cause: result.error,
  })
}
