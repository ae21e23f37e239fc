/**
 * The built-in shop as a task needs it: catalogue, splits, goals by id.
 *
 * Invariants
 * - An id that a split gives can be opened; any other is an unknown instance.
 * - Products of a split are asked for in turn, each time with other wishes.
 */
import { seedOf } from '../../../identity.ts'
import { EnvironmentFault } from '../../environment.ts'
import { CatalogueBuilder } from '../data/catalogue.ts'
import type { GoalLibrary } from '../goal-library.ts'
import type { Difficulty } from '../settings.ts'
import type { Product } from '../shop/product.ts'
import type { ShopSplit } from './generator.ts'
import {
  generateGoal,
  generateProduct,
  indexedText,
  levels,
  shopSplits,
  splitOf,
  titleNouns,
} from './generator.ts'

const sizes: Readonly<Record<ShopSplit, number>> = {
  train: Number.POSITIVE_INFINITY,
  validation: 2000,
  test: 2000,
}
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
  const ofSplit = Object.groupBy(products, (_, index) => splitOf(index))
  return {
    shop,
    nouns: { nounsOf: async (_, title) => titleNouns(title) },
    splits: shopSplits.map((name) => ({ name, size: sizes[name] })),
    instanceAt(split, index) {
      if (!isSplit(split))
        throw new EnvironmentFault(
          'unknown_split',
          `webshop has no split "${split}": use ${shopSplits.join(', ')}`,
        )
      const size = Math.min(sizes[split], largestIndex)
      return `${split}/${((index % size) + size) % size}`
    },
    goalOf(instance) {
      const [, split = '', digits = ''] = /^([a-z]+)\/(0|[1-9]\d{0,12})$/.exec(instance) ?? []
      const index = Number(digits)
      if (!isSplit(split) || digits === '' || index >= Math.min(sizes[split], largestIndex))
        throw new EnvironmentFault(
          'unknown_instance',
          `webshop has no goal "${instance.slice(0, 80)}": use train/N, or validation/N or test/N with N below ${sizes.test}`,
        )
      return generateGoal(
        askedProduct(ofSplit[split] ?? [], index),
        difficulty,
        seedOf(0, 'webshop', difficulty, instance),
      )
    },
    close: () => {},
  }
}

function askedProduct(products: readonly Product[], index: number): Product {
  const product = products[index % products.length]
  if (product === undefined) throw new RangeError('a split without products')
  return product
}

function isSplit(name: string): name is ShopSplit {
  return (shopSplits as readonly string[]).includes(name)
}
