/**
 * A shop of a few products, for tests.
 *
 * Invariants
 * - A search finds every product whose title has the keywords, in the order of their ids.
 */
import type { Product, Shop } from './product.ts'

/** A product with some of its fields. */
export function toyProduct(id: string, given: Partial<Product> = {}): Product {
  return {
    id,
    title: `Toy ${id}`,
    description: '',
    features: [],
    reviews: [],
    rating: 'N.A.',
    priceTag: '$10.0',
    prices: [10],
    category: 'toys',
    query: 'toys',
    categoryPath: 'Toys › Small Toys › Any',
    options: new Map(),
    attributes: [],
    image: '',
    ...given,
  }
}

/** Products as a shop. */
export function toyShop(products: readonly Product[], pageSize = 2): Shop {
  const known = new Map(products.map((product) => [product.id, product]))
  return {
    size: products.length,
    pageSize,
    find: (keywords) =>
      [...known].filter(([, { title }]) => title.toLowerCase().includes(keywords)).map(([id]) => id),
    product(id) {
      const product = known.get(id)
      if (product === undefined) throw new RangeError(`no product ${id}`)
      return product
    },
    price: (id) => known.get(id)?.prices[0] ?? Number.NaN,
  }
}
