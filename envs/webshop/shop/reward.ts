/**
 * The reward of a purchase: how many of the attributes, options and the price limit asked for it meets, times a
 * factor for being of the right type.
 *
 * Source: Yao et al., WebShop (arXiv 2207.01206), and the published environment, whose arithmetic this follows.
 *
 * Invariants
 * - A reward is from 0 to 1.
 * - It depends on the product, the options chosen and the goal, never on the way to the purchase.
 * - The result is a whole number from 0 to 100, and the same whichever text comes first.
 * - Order and repetition of words do not matter; a text whose words are all in the other one gives 100.
 */
import type { Goal, GoalOption } from './goal.ts'
import type { Product } from './product.ts'
import { compareText, textLiteral } from './python-text.ts'

/** The parts of a reward, with the original's names. */
export interface RewardParts {
  /** Factor for the type: 1, 0.5, 0.1 or 0. */
  readonly r_type: number
  /** Share of attributes met. */
  readonly r_att: number
  readonly w_att: number
  readonly query_match: boolean
  readonly category_match: boolean
  /** Share of the goal's nouns that the product's title has. */
  readonly title_score: number
  /** Share of options met; absent where none is asked for. */
  readonly r_option?: number
  readonly w_option?: number
  readonly r_price: boolean
  readonly w_price: number
}

export interface Purchase {
  readonly product: Product
  /** The price in dollars: one price even where the page shows a range. */
  readonly price: number
  /** Chosen values by name of option. */
  readonly options: ReadonlyMap<string, string>
}

/** Nouns of the two titles, in lower case, repeated ones repeated. */
export interface TitleNouns {
  readonly purchased: readonly string[]
  readonly asked: readonly string[]
}

// A ratio above it counts as met.
const likeness = 85

/** Judges a purchase. */
export function rewardOf(
  purchase: Purchase,
  goal: Goal,
  nouns: TitleNouns,
): { readonly reward: number; readonly parts: RewardParts } {
  const type = typeParts(purchase.product, goal, nouns)
  const attributes = attributesMet(purchase.product, goal.attributes)
  const options = optionsMet([...purchase.options.values()], goal.options)
  const price = purchase.price <= goal.priceLimit
  const asked = goal.attributes.length + goal.options.length + 1
  const reward = ((attributes + options + (price ? 1 : 0)) / asked) * type.r_type
  return {
    reward,
    parts: {
      ...type,
      r_att: goal.attributes.length === 0 ? 0 : attributes / goal.attributes.length,
      w_att: goal.attributes.length / asked,
      ...(goal.options.length === 0
        ? {}
        : { r_option: options / goal.options.length, w_option: goal.options.length / asked }),
      r_price: price,
      w_price: 1 / asked,
    },
  }
}

// The title score that a goal without nouns gets.
const scoreWithoutNouns = 0.2

const sameCategories = 2

function typeParts(
  product: Product,
  goal: Goal,
  nouns: TitleNouns,
): Pick<RewardParts, 'r_type' | 'query_match' | 'category_match' | 'title_score'> {
  const queryMatch = product.query === goal.query
  const categories = categoriesOf(goal.categoryPath)
  const shared = [...categoriesOf(product.categoryPath)].filter((name) => categories.has(name))
  const categoryMatch = shared.length >= sameCategories
  const score = titleScore(nouns)
  let factor = queryMatch || categoryMatch || score > 0.2 ? 1 : 0.5
  if (score < 0.1) factor = 0.1
  if (score === 0) factor = 0
  return { r_type: factor, query_match: queryMatch, category_match: categoryMatch, title_score: score }
}

function categoriesOf(path: string): Set<string> {
  return new Set(path.split('›').map((name) => name.trim()))
}

function titleScore({ purchased, asked }: TitleNouns): number {
  if (asked.length === 0) return scoreWithoutNouns
  const had = new Set(purchased)
  return [...new Set(asked)].filter((noun) => had.has(noun)).length / asked.length
}

/** An attribute is met by a like one of the product, or by standing in its texts. */
function attributesMet(product: Product, asked: readonly string[]): number {
  const texts = [product.title, product.features.join(' '), product.description].map((text) =>
    text.toLowerCase(),
  )
  return asked.filter(
    (attribute) =>
      product.attributes.some((had) => tokenSetRatio(had, attribute) > likeness) ||
      texts.some((text) => text.includes(attribute)),
  ).length
}

function optionsMet(chosen: readonly string[], asked: readonly GoalOption[]): number {
  const values = chosen.map(colorOf)
  return asked.filter((option) => {
    const text = comparedText(option)
    return values.some((value) => tokenSetRatio(value, text) > likeness)
  }).length
}

/**
 * The text that a chosen value is compared with. A named option is compared as the original's pair of name and value
 * prints in Python, so that words of the name count as well; a pair is a colour only where it holds one alone.
 */
function comparedText(option: GoalOption): string {
  if (!('name' in option)) return colorOf(option.value)
  const { name, value } = option
  return colorAmong([name, value]) ?? `(${textLiteral(name)}, ${textLiteral(value)})`
}

/**
 * Colours that the shop knows: options that name one are compared by it.
 *
 * Source: the list of the published environment, in its order, which decides where a text holds several.
 */
const colors = `alabaster apricot aqua ash asphalt azure banana beige black blue blush bordeaux bronze brown
burgundy camel camo caramel champagne charcoal cheetah chestnut chocolate christmas coffee cognac copper coral
cranberry cream crystal dark denim eggplant elephant espresso fuchsia gold granite grape graphite grass gray
green grey heather indigo ivory ivy khaki lavender lemon leopard light lilac lime magenta maroon mauve merlot
midnight mint mocha multicolor mushroom mustard natural navy nude olive orange peach pewter pink plum purple
rainbow red rose royal rust sand sapphire seashell silver skull slate steel stone stonewash sunflower tan taupe
teal tiger turquoise violet walnut wheat white wine yellow`.split(/\s+/)

/** The first known colour that the text holds, even within a word; else the text as it is. */
export function colorOf(text: string): string {
  return colors.find((color) => text.includes(color)) ?? text
}

/** The first known colour that is one of the texts. */
export function colorAmong(texts: readonly string[]): string | undefined {
  return colors.find((color) => texts.includes(color))
}

/** Words of a text: lower case, without the characters U+0080 to U+00FF, cut at all but letters and digits. */
function tokensOf(text: string): Set<string> {
  const words = text
    .replace(/[\u0080-\u00ff]/g, '')
    // A letter stays one letter, which Turkish İ does not in JavaScript.
    .replace(/\u0130/g, 'i')
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu)
  return new Set(words)
}

/** Length of the longest common subsequence. */
function commonLength(one: readonly string[], other: readonly string[]): number {
  let before = new Uint32Array(other.length + 1)
  let row = new Uint32Array(other.length + 1)
  for (const character of one) {
    for (let at = 0; at < other.length; at++)
      row[at + 1] =
        character === other[at] ? (before[at] ?? 0) + 1 : Math.max(before[at + 1] ?? 0, row[at] ?? 0)
    ;[before, row] = [row, before]
  }
  return before[other.length] ?? 0
}

/** Rounds halves to even, as Python does. */
function rounded(value: number): number {
  const below = Math.floor(value)
  if (value - below !== 0.5) return Math.round(value)
  return below % 2 === 0 ? below : below + 1
}

/** @returns 0 to 100; 0 where a text has no words */
export function tokenSetRatio(one: string, other: string): number {
  const left = tokensOf(one)
  const right = tokensOf(other)
  if (left.size === 0 || right.size === 0) return 0
  const common = [...left].filter((token) => right.has(token))
  const onlyLeft = [...left].filter((token) => !right.has(token)).sort(compareText)
  const onlyRight = [...right].filter((token) => !left.has(token)).sort(compareText)
  if (common.length > 0 && (onlyLeft.length === 0 || onlyRight.length === 0)) return 100
  const leftRest = Array.from(onlyLeft.join(' '))
  const rightRest = Array.from(onlyRight.join(' '))
  const commonSize = Array.from(common.join(' ')).length
  const gap = commonSize > 0 ? 1 : 0
  const whole = 2 * (commonSize + gap) + leftRest.length + rightRest.length
  const distance = leftRest.length + rightRest.length - 2 * commonLength(leftRest, rightRest)
  const similarity = (far: number, size: number): number => (1 - far / size) * 100
  let best = similarity(distance, whole)
  if (commonSize > 0)
    for (const rest of [leftRest.length, rightRest.length])
      best = Math.max(best, similarity(gap + rest, 2 * commonSize + gap + rest))
  return rounded(best)
}
