/**
 * A live visit to the shop, made through its tools.
 *
 * Invariants
 * - The same instance and the same actions give the same messages, rewards and endings.
 * - A click on what is not there is not invalid.
 * - Only buying pays, once, by what was bought.
 * - The facts hold the page's official text, whatever form the agent is shown.
 * - An id that a split of a library gives can be opened; any other is an unknown instance.
 */
import type { JsonObject } from '../../messages/message.ts'
import { type AgentTool, type Answer, quoted, textTool } from '../contract/agent-tool.ts'
import type { Environment, InstanceId } from '../contract/environment.ts'
import type { Library } from '../contract/library.ts'
import { type SessionRules, ToolSession } from '../contract/tool-session.ts'
import type { NounReader } from './data/nouns.ts'
import type { Goal } from './shop/goal.ts'
import { briefText, type PageSetting, pageText } from './shop/page-text.ts'
import type { Shop } from './shop/product.ts'
import { type RewardParts, rewardOf } from './shop/reward.ts'
import { type Page, Visit } from './shop/visit.ts'
import { clickTool, readAction, type ShopAction, searchTool } from './tools.ts'

/** A shop with its goals. */
export interface GoalLibrary extends Library<Goal> {
  readonly shop: Shop
  readonly nouns: NounReader
  close(): void
}

/** The parts of a session. */
export interface SessionOptions {
  readonly shop: Shop
  readonly nouns: NounReader
  /** @throws EnvironmentFault unknown_instance */
  readonly goalOf: (instance: InstanceId) => Goal
  readonly systemPrompt: string
  readonly pages: 'official' | 'brief'
  readonly showAttributes: boolean
}

/** A session that plays one goal after another. */
export function createSession(options: SessionOptions): ShopSession {
  return new PlayedSession(options)
}

/** A session whose page can be shown to a person, too. */
export interface ShopSession extends Environment {
  /** @throws EnvironmentFault session_lost before the first reset */
  view(): SessionView
}

/** Where a session is. */
export interface SessionView {
  readonly instruction: string
  readonly page: Page
  readonly shop: Shop
  readonly showAttributes: boolean
  readonly bought: { readonly reward: number; readonly parts: RewardParts } | undefined
}

/** One goal being played. */
interface Play {
  readonly goal: Goal
  readonly visit: Visit
  bought?: { readonly reward: number; readonly parts: RewardParts }
  /** The official text of the page that was printed last: messages and facts both hold it. */
  printed?: { readonly page: Page; readonly text: string }
}

class PlayedSession extends ToolSession<Play> implements ShopSession {
  readonly #options: SessionOptions

  constructor(options: SessionOptions) {
    super(rulesOf(options))
    this.#options = options
  }

  view(): SessionView {
    const { goal, visit, bought } = this.play
    const { shop, showAttributes } = this.#options
    return { instruction: goal.text, page: visit.page, shop, showAttributes, bought }
  }
}

function rulesOf(options: SessionOptions): SessionRules<Play> {
  const { shop, showAttributes, systemPrompt, pages, goalOf } = options
  const search: AgentTool<Play> = textTool({
    name: searchTool,
    description: 'Searches the shop and shows the results.',
    takes: { keywords: 'What to search for.' },
    run: ({ keywords }, play) => act(play, readAction('search', keywords), options),
  })
  const click: AgentTool<Play> = textTool({
    name: clickTool,
    description: 'Clicks on a button, a product id or an option of the page and shows where it leads.',
    takes: { value: 'The text to click on, such as "Buy Now".' },
    run: ({ value }, play) => act(play, readAction('click', value), options),
  })
  return {
    tools: [search, click],
    unnamed: clickTool,
    noSuchTool: (name) =>
      `There is no tool ${quoted(name)}. Call ${searchTool} with "keywords" or ${clickTool} with "value".`,
    noCall: `Call ${searchTool} or ${clickTool}.`,
    over: 'The purchase is done.',
    idle: 'no goal is being played here',
    open(instance) {
      const goal = goalOf(instance)
      const play: Play = { goal, visit: new Visit(shop, { showAttributes }) }
      const prompt = pages === 'brief' ? goal.text : print(play, options)
      return { play, system: systemPrompt, prompt, kind: shop.product(goal.productId).category }
    },
    facts: (play) => factsOf(play, options),
    state: 'calls',
  }
}

async function act(play: Play, action: ShopAction, options: SessionOptions): Promise<Answer> {
  const { visit } = play
  const before = visit.page
  if (action.kind === 'search') visit.search(action.keywords)
  else if (action.kind === 'click') visit.click(action.value)
  const { page } = visit
  if (page.kind === 'done') {
    const { shop, nouns } = options
    const { product, options: chosen } = page
    const titles = {
      purchased: await nouns.nounsOf(product.id, product.title),
      asked: await nouns.nounsOf(play.goal.productId, play.goal.title),
    }
    play.bought = rewardOf({ product, options: chosen, price: shop.price(product.id) }, play.goal, titles)
  }
  const reply = shown(play, page === before, options)
  return play.bought === undefined ? { reply } : { reply, reward: play.bought.reward, done: true }
}

function shown(play: Play, isUnchanged: boolean, options: SessionOptions): string {
  if (options.pages === 'official') return print(play, options)
  const text = briefText(play.visit.page, settingOf(play, options))
  return isUnchanged ? `Nothing happens.\n${text}` : text
}

function settingOf(play: Play, { shop, showAttributes }: SessionOptions): PageSetting {
  return { shop, showAttributes, instruction: play.goal.text, reward: play.bought?.reward ?? 0 }
}

function print(play: Play, options: SessionOptions): string {
  const { page } = play.visit
  if (play.printed?.page !== page) play.printed = { page, text: pageText(page, settingOf(play, options)) }
  return play.printed.text
}

function factsOf(play: Play, options: SessionOptions): JsonObject {
  const { visit, bought } = play
  const { page } = visit
  return {
    observation: print(play, options),
    clickables: visit.clickables,
    hasSearchBar: page.kind === 'search',
    ...(page.kind === 'results' ? { asins: page.found } : {}),
    ...(bought === undefined ? {} : { score: bought.reward, ...bought.parts }),
  }
}
