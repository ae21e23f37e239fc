/**
 * The shop: WebShop's products and goals where their data is given, else built-in ones.
 *
 * Invariants
 * - Both kinds are sold by the same engine, behind the same tools, under the same rules.
 * - The texts of a version never change: a policy that was trained on one is evaluated on the same.
 */

import { z } from 'zod'
import type { JsonObject } from '../../messages/message.ts'
import type {
  EnvironmentDefinition,
  InstanceId,
  ServedPage,
  Task,
  TaskOptions,
} from '../contract/environment.ts'
import { difficultySetting, promptSetting, settingsOf } from '../contract/task-settings.ts'
import { demonstrateByExpert } from './expert.ts'
import { openBuiltInShop } from './generator/generator.ts'
import { openOfficialShop } from './official.ts'
import { createSession, type GoalLibrary, type SessionOptions } from './shop-session.ts'

const short = 'Buy what is asked for with search_action and click_action.'

const full = `You are in an online shop and buy one product for the user, step by step.
In every turn call one tool: search_action with "keywords", or click_action with "value", a text of the page that can be clicked: a button, the id of a product, or the value of an option.
Search in words of the instruction. A page of results lists products by id, title and price; click on an id to see a product. "Next >" and "< Prev" turn pages, "Back to Search" starts again.
On a product's page click on the values of options that are asked for; "Description", "Features" and "Reviews" tell more, "< Prev" leads back.
When the product has what is asked for, its price is not too high and its options are chosen, click on "Buy Now". That ends the task, and you are paid by how well the product fits. A click on what is not there changes nothing.`

export const webshop: EnvironmentDefinition = {
  name: 'webshop',
  summary: 'Shopping: find a product by an instruction, choose its options, buy it.',
  source: 'princeton-nlp/WebShop, the small or the full data set; without it a built-in shop',
  licence: 'MIT (WebShop); built-in shop Apache-2.0',
  reward: '0 to 1: attributes, options and price that the purchase meets, times a factor for its type',
  replayable: true,
  replayableBecause: 'the shop has no randomness: the same searches and clicks reach the same page',
  turnLimit: 20,
  metrics: { score: { unit: 'of 1', better: 'higher' } },
  open: openWebshop,
}

/** Settings of the shop, complete. */
type WebshopSettings = z.infer<typeof settingsSchema>

async function openWebshop({ dataDir, settings: given }: TaskOptions): Promise<Task> {
  const settings = readSettings(given)
  if (dataDir === undefined) return openTask(openBuiltInShop(settings.difficulty), settings, 'brief')
  return openTask(await openOfficialShop(dataDir, settings.products), settings, 'official')
}

/** The page and its web server are loaded when a person asks for them. */
async function servePageOf(
  options: SessionOptions,
  instances: Iterator<InstanceId, unknown>,
  port: number,
): Promise<ServedPage> {
  const { servePage } = await import('./page/server.ts')
  return servePage({ session: createSession(options), instances, port })
}

function openTask(library: GoalLibrary, settings: WebshopSettings, pages: SessionOptions['pages']): Task {
  const options: SessionOptions = {
    shop: library.shop,
    nouns: library.nouns,
    goalOf: library.open,
    systemPrompt: systemPrompt(settings.prompt),
    pages: settings.pages ?? pages,
    showAttributes: settings.showAttributes,
  }
  return {
    splits: library.splits,
    warnings: library.warnings,
    instanceAt: library.instanceAt,
    create: async () => createSession(options),
    demonstrate: (instance) => demonstrateByExpert(() => createSession(options), instance),
    serve: (instances, port) => servePageOf(options, instances, port),
    close: async () => library.close(),
  }
}

/** The system message. */
export function systemPrompt(form: 'short' | 'full'): string {
  return form === 'short' ? short : full
}

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

/** Fills in what is not given. @throws EnvironmentFault bad_settings, naming key and allowed values */
export function readSettings(settings: JsonObject | undefined): WebshopSettings {
  return settingsOf('webshop', settingsSchema, settings)
}
