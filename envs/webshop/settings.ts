/**
 * Settings of the shop: how hard its generated goals are, what pages look like, how much of the data is used.
 *
 * Invariants
 * - Every setting has a default; empty settings are valid ones.
 */
import { z } from 'zod'
import type { JsonObject } from '../../messages/message.ts'
import { difficultySetting, promptSetting, settingsOf } from '../contract/task-settings.ts'

const settingsSchema = z.strictObject({
  difficulty: difficultySetting.describe(
    'How many products there are, how much a goal asks for and where that is shown, for generated goals.',
  ),
  pages: z
    .enum(['official', 'brief'])
    .optional()
    .describe("Texts of pages: the original's, or few words. By default brief for generated goals only."),
  prompt: promptSetting,
  showAttributes: z
    .boolean()
    .default(false)
    .describe("Whether product pages lead to a list of the product's attributes; the original hides it."),
  products: z
    .int()
    .min(1)
    .optional()
    .describe('How many products of official data are offered, from the first; all by default.'),
})

/** Settings of the shop, complete. */
export type WebshopSettings = z.infer<typeof settingsSchema>

/** Fills in what is not given. @throws EnvironmentFault bad_settings, naming key and allowed values */
export function readSettings(settings: JsonObject | undefined): WebshopSettings {
  return settingsOf('webshop', settingsSchema, settings)
}
