/**
 * The shop: WebShop's products and goals where their data is given, else built-in ones.
 *
 * Invariants
 * - Both kinds are sold by the same engine, behind the same tools, under the same rules.
 */
import type {
  EnvironmentDefinition,
  InstanceId,
  ServedPage,
  Task,
  TaskOptions,
} from '../contract/environment.ts'
import { demonstrateByExpert } from './expert.ts'
import { openBuiltInShop } from './generator/library.ts'
import { openOfficialShop } from './official.ts'
import { systemPrompt } from './prompt.ts'
import { readSettings, type WebshopSettings } from './settings.ts'
import { createSession, type GoalLibrary, type SessionOptions } from './shop-session.ts'

export const webshop: EnvironmentDefinition = {
  name: 'webshop',
  summary: 'Shopping: find a product by an instruction, choose its options, buy it.',
  source: 'princeton-nlp/WebShop, the small or the full data set; without it a built-in shop',
  licence: 'MIT (WebShop); built-in shop Apache-2.0',
  reward: '0 to 1: attributes, options and price that the purchase meets, times a factor for its type',
  replayable: true,
  replayableBecause: 'the shop has no randomness: the same searches and clicks reach the same page',
  turnLimit: 20,
  open: openWebshop,
}

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
