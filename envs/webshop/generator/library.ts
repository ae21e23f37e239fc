/**
 * The built-in shop as a task needs it: catalogue, splits, goals by id.
 *
 * Invariants
 * - An id that a split gives can be opened; any other is an unknown instance.
 * - Products of a split are asked for in turn, each time with other wishes, in an order that does not follow their ids: a few goals
 *   show ids of all kinds.
 */
import { seedOf } from '../../../identity/identity.ts'
import type { Difficulty } from '../../contract/task-settings.ts'
import { Draw } from '../../generated/draw.ts'
import { generatedLibrary } from '../../generated/generated-instances.ts'
import { CatalogueBuilder } from '../data/catalogue.ts'
import type { Product } from '../shop/product.ts'
import type { GoalLibrary } from '../shop-session.ts'
import { generateGoal, generateProduct, indexedText, levels, splitOf, titleNouns } from './generator.ts'

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
