/**
 * The built-in shop: a catalogue of made-up products, and goals to buy one of them.
 *
 * Invariants
 * - The catalogue is a function of the difficulty, a goal of its id and the difficulty.
 * - Splits are disjoint: the product that a goal is made from belongs to one split.
 * - Every goal can be met in full: its product has all that is asked for and costs less than the limit, by every
 *   price that its page shows.
 * - No attribute's words are all within another one's, so that none is taken for another.
 * - Colours are ones that the shop compares as such, and none is within another; no other value holds one.
 * - The words for a ware in a title and in an instruction have the same stem.
 * - Products of a split are asked for in turn, each time with other wishes, in an order that does not follow their ids: a few goals
 *   show ids of all kinds.
 */
import { seedOf } from '../../../identity/identity.ts'
import type { Difficulty } from '../../contract/task-settings.ts'
import { Draw } from '../../generated/draw.ts'
import { type GeneratedSplit, generatedLibrary } from '../../generated/generated-instances.ts'
import { CatalogueBuilder, type ShopWindow } from '../data/catalogue.ts'
import { type Goal, noPriceLimit, priceLimitText } from '../shop/goal.ts'
import type { Product } from '../shop/product.ts'
import { floatText } from '../shop/python-text.ts'
import type { GoalLibrary } from '../shop-session.ts'
import words from './words.json' with { type: 'json' }

/** Both ends belong to the range. */
interface Range {
  readonly min: number
  readonly max: number
}

interface Level {
  readonly products: number
  readonly window: ShopWindow
  /** Attributes of a product, and how many of them its title names. */
  readonly attributes: Range
  readonly titled: number
  /** Values that an option offers. */
  readonly values: number
  /** Options asked for at most, and whether a third one is sold at all. */
  readonly options: number
  readonly extras: boolean
  readonly asked: Range
  /** Share of products whose page shows a range of prices. */
  readonly ranges: number
  /** Share of goals with a price limit. */
  readonly limited: number
}

/** The size and the goals of a shop at each difficulty. */
const levels: Readonly<Record<Difficulty, Level>> = {
  easy: {
    products: 1200, // more than few demonstrations show: ids have to be read, and training has products of its own
    window: { resultLimit: 6, pageSize: 3 },
    attributes: { min: 1, max: 1 },
    titled: 1,
    values: 2,
    options: 1,
    extras: false,
    asked: { min: 1, max: 1 },
    ranges: 0,
    limited: 0,
  },
  normal: {
    products: 480,
    window: { resultLimit: 20, pageSize: 5 },
    attributes: { min: 2, max: 3 },
    titled: 1,
    values: 3,
    options: 2,
    extras: false,
    asked: { min: 1, max: 2 },
    ranges: 0.2,
    limited: 0.7,
  },
  hard: {
    products: 1500,
    window: { resultLimit: 50, pageSize: 10 },
    attributes: { min: 3, max: 4 },
    titled: 0,
    values: 5,
    options: 3,
    extras: true,
    asked: { min: 2, max: 3 },
    ranges: 0.5,
    limited: 1,
  },
}

/** The number of a product's split: of ten products eight are trained on. */
const splitShares: readonly GeneratedSplit[] = [
  ...Array.from({ length: 8 }, (): GeneratedSplit => 'train'),
  'validation',
  'test',
]

/** Words of the built-in shop: its wares, their attributes and their options. */
type Department = keyof typeof words.departments

/** A kind of product. */
interface Ware {
  readonly noun: string
  /** The word that finds it in a search; also the product's `query`. */
  readonly plural: string
  readonly department: Department
  /** Usual price in dollars. */
  readonly price: number
}

/** The attributes of a department's products, and its words for sizes. */
interface DepartmentWords {
  readonly title: string
  readonly aisle: string
  readonly attributes: readonly string[]
  readonly sizes: readonly string[]
  /** A third option, which only some products have. */
  readonly extra: { readonly name: string; readonly values: readonly string[] }
}

/** Which split asks for a product. @param index of the product in the catalogue */
export function splitOf(index: number): GeneratedSplit {
  return splitShares[index % splitShares.length] ?? 'train'
}

const idAlphabet = 'ABCDEFGHJKLMNPQRSTUVWXYZ'

/** A letter for the look of it, and a number: no two products share an id. */
function idOf(index: number): string {
  return `${idAlphabet[index % idAlphabet.length]}${index}`
}

/** The index-th product of a catalogue. */
export function generateProduct(difficulty: Difficulty, index: number): Product {
  const level = levels[difficulty]
  const draw = new Draw(seedOf(0, 'webshop', difficulty, 'product', index))
  const ware = draw.one(wares)
  const words = departmentWords[ware.department]
  const count = draw.int(level.attributes.min, level.attributes.max)
  const attributes = draw.oneByOne(words.attributes, count)
  const brand = draw.one(brands)
  const title = [brand, ...attributes.slice(0, level.titled), ware.noun].join(' ')
  const options = new Map([['color', draw.oneByOne(colors, level.values)]])
  if (level.options > 1) options.set('size', draw.oneByOne(words.sizes, level.values))
  if (level.extras && draw.chance(0.5))
    options.set(words.extra.name, draw.oneByOne(words.extra.values, level.values))
  const prices = drawPrices(draw, ware, level.ranges)
  return {
    id: idOf(index),
    title,
    description: `${brand} ${ware.plural} are made for ${words.aisle.toLowerCase()}.`,
    features: [`${attributes.join(', ')} ${ware.noun}`, `by ${brand}`],
    reviews: [],
    rating: 'N.A.',
    priceTag: prices.map((price) => `$${floatText(price)}`).join(' to '),
    prices,
    category: ware.department,
    query: ware.plural,
    categoryPath: `${words.title} › ${words.aisle} › ${ware.plural}`,
    options,
    attributes,
    image: '',
  }
}

/** The usual price, up to half more or less; sometimes a range. In whole dollars, as prices are read aloud. */
function drawPrices(draw: Draw, { price }: Ware, ranges: number): number[] {
  const low = Math.max(1, Math.round(price * (0.5 + draw.below(100) / 100)))
  return draw.chance(ranges) ? [low, low + 1 + draw.below(Math.max(1, Math.round(price / 2)))] : [low]
}

/** The very text that is indexed: as of a published product. */
function indexedText({ title, description, features, options }: Product): string {
  const listed = [...options].map(([name, values]) => `${name}: ${values.join(', ')}`).join(', and ')
  return [title, description, features[0] ?? '', listed].join(' ').toLowerCase()
}

/** Nouns of a title, which its maker knows: the maker's name and the ware. */
export function titleNouns(title: string): readonly string[] {
  const words = title.toLowerCase().split(' ')
  return [words[0] ?? '', words.at(-1) ?? '']
}

const nextLimits = 3

/** A goal to buy that product. @param seed other seeds ask for other things */
function generateGoal(product: Product, difficulty: Difficulty, seed: number): Goal {
  const level = levels[difficulty]
  const draw = new Draw(seed)
  const count = draw.int(level.asked.min, level.asked.max)
  const attributes = draw.oneByOne(product.attributes, count)
  const names = draw.oneByOne([...product.options.keys()], 1 + draw.below(level.options))
  const options = names.map((name) => ({ name, value: draw.one(product.options.get(name) ?? []) }))
  const highest = Math.max(...product.prices)
  const priceLimit = draw.chance(level.limited)
    ? (Math.floor(highest / 10) + 1 + draw.below(nextLimits)) * 10
    : noPriceLimit
  const wanted = options.map(({ name, value }) => `${name}: ${value}`).join(', and ')
  return {
    productId: product.id,
    title: product.title,
    query: product.query,
    categoryPath: product.categoryPath,
    text: `Find me ${attributes.join(', ')} ${product.query} with ${wanted}${priceLimitText(priceLimit)}`,
    attributes,
    options,
    priceLimit,
  }
}

export const departmentWords: Readonly<Record<Department, DepartmentWords>> = words.departments

/** Everything sold. */
export const wares = words.wares as readonly Ware[]

/** Colours, and makers, whose names mean nothing. */
export const { colors, brands }: Readonly<Record<'colors' | 'brands', readonly string[]>> = words

/** More than a run can reach, and still exact as a number. */
const largestIndex = 2 ** 40

/** The shop of a difficulty. */
export function openBuiltInShop(difficulty: Difficulty): GoalLibrary {
  const level = levels[difficulty]
  const products = Array.from({ length: level.products }, (_, index) => generateProduct(difficulty, index))
  const builder = new CatalogueBuilder(new Map())
  for (const product of products) builder.add({ product, indexed: indexedText(product), instructions: [] })
  const shop = builder.finish((position) => {
    const product = products[position]
    if (product === undefined) throw new RangeError(`the built-in shop has no product ${position}`)
    return { product, indexed: '', instructions: [] }
  }, level.window)
  const drawn = new Draw(seedOf(0, 'webshop', difficulty, 'order')).shuffled([...products.entries()])
  const ofSplit = Object.groupBy(drawn, ([index]) => splitOf(index))
  const goals = generatedLibrary(
    'webshop',
    'goal',
    (split, index, instance) => {
      const seed = seedOf(0, 'webshop', difficulty, instance)
      return generateGoal(askedProduct(ofSplit[split] ?? [], index), difficulty, seed)
    },
    { largest: largestIndex },
  )
  return {
    ...goals,
    shop,
    nouns: { nounsOf: async (_, title) => titleNouns(title) },
    close: () => {},
  }
}

function askedProduct(products: readonly (readonly [number, Product])[], index: number): Product {
  const [, product] = products[index % products.length] ?? []
  if (product === undefined) throw new RangeError('a split without products')
  return product
}
