/**
 * The prompt of a BFCL conversation, version 1.
 *
 * Invariants
 * - The texts of a version never change: results with one are compared with results with the same.
 * - `none` is the official function-calling mode, which has no system message.
 * - Every setting has a default; empty settings are valid ones.
 */
import { z } from 'zod'
import type { JsonObject } from '../../messages/message.ts'
import { settingsOf } from '../contract/task-settings.ts'

/** Forms of the system message. */
const promptForms = ['none', 'short', 'full'] as const

export type PromptForm = (typeof promptForms)[number]

const texts: Record<PromptForm, string> = {
  none: '',
  short: 'Do what the user asks with the tools. When it is done, answer without a call.',
  full: `You help a user over several turns, with tools.
In each turn do all that the user asks, with as many calls as it takes; you may make several calls in one message, and see their results before the next.
Take the values of arguments from the conversation and from results. Where a value or a fitting tool is missing, make no call and say what is missing.
When everything that was asked is done, answer without a call: that ends the turn, and the user may ask for more.`,
}

/** Settings of the BFCL suite. */
export type BfclSettings = z.output<typeof settingsSchema>

/** The system message; empty where there is none. */
export function systemPrompt(form: PromptForm): string {
  return texts[form]
}

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

/** Fills in what is not given. @throws EnvironmentFault bad_settings, naming key and allowed values */
export function readSettings(settings: JsonObject | undefined): BfclSettings {
  return settingsOf('bfcl', settingsSchema, settings)
}
