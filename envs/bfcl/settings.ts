/**
 * Settings of the BFCL suite.
 *
 * Invariants
 * - Every setting has a default; empty settings are valid ones.
 */
import { z } from 'zod'
import type { JsonObject } from '../../messages/message.ts'
import { settingsOf } from '../contract/task-settings.ts'
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
  return settingsOf('bfcl', settingsSchema, settings)
}
