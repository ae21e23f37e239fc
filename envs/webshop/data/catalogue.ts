/**
 * The products of a shop: indexed once, then read from their file when a page shows them.
 *
 * Invariants
 * - A product is found by the very text that the original indexes.
 * - Memory holds the index entry, the place and the price of each product; pages in use are kept as well.
 * - The price of a product that its page shows as a range is one number, the same whenever it is asked for.
 */
import { seedOf, uniforms } from '../../../identity/identity.ts'
import { GrowingList } from '../../../worlds/search/growing.ts'
import { type TextIndex, TextIndexBuilder } from '../../../worlds/search/text-index.ts'
import type { Product, ProductRecord, Shop } from '../shop/product.ts'

/** How much a shop shows. */
export interface ShopWindow {
  /** Results of a search at most. */
  readonly resultLimit: number
  /** Results of a page. */
  readonly pageSize: number
}

/** As the original has it. */
export const officialWindow: ShopWindow = { resultLimit: 50, pageSize: 10 }

/** Products that are kept as they were read: those of the pages that are in use, and of a small shop all. */
const keptProducts = 4096

/** Reads the product at a position of the catalogue. */
export type ReadProduct = (position: number) => ProductRecord

/** Takes in products in the order of the catalogue. */
export class CatalogueBuilder {
  readonly #index = new TextIndexBuilder()
  readonly #ids: string[] = []
  readonly #positions = new Map<string, number>()
  readonly #prices = new GrowingList((length) => new Float64Array(length))
  readonly #categories: string[] = []
  readonly #queries: string[] = []
  readonly #names = new Map<string, string>()
  readonly #givenPrices: ReadonlyMap<string, number>

  /** @param givenPrices what products cost, where that is known; else it is drawn from their range */
  constructor(givenPrices: ReadonlyMap<string, number>) {
    this.#givenPrices = givenPrices
  }

  get size(): number {
    return this.#ids.length
  }

  /** @returns false where a product of that id is there already: the first one counts */
  add({ product, indexed }: ProductRecord): boolean {
    const { id } = product
    if (this.#positions.has(id)) return false
    this.#positions.set(id, this.#ids.length)
    this.#ids.push(id)
    this.#index.add(id, indexed)
    this.#prices.push(this.#givenPrices.get(id) ?? drawPrice(product))
    this.#categories.push(this.#shared(product.category))
    this.#queries.push(this.#shared(product.query))
    return true
  }

  finish(read: ReadProduct, window: ShopWindow): Catalogue {
    return new Catalogue({
      ids: this.#ids,
      positions: this.#positions,
      index: this.#index.finish(),
      prices: this.#prices.view(),
      categories: this.#categories,
      queries: this.#queries,
      read,
      window,
    })
  }

  /** One string for all that are equal, so that each is kept once. */
  #shared(text: string): string {
    const known = this.#names.get(text)
    if (known !== undefined) return known
    this.#names.set(text, text)
    return text
  }
}

/** One price; of a range any within it, which the id decides. */
function drawPrice({ id, prices: [low = 0, high] }: Product): number {
  if (high === undefined) return low
  return low + (high - low) * uniforms(seedOf(0, 'webshop', 'price', id))()
}

interface CatalogueParts {
  readonly ids: readonly string[]
  readonly positions: ReadonlyMap<string, number>
  readonly index: TextIndex
  readonly prices: Float64Array
  readonly categories: readonly string[]
  readonly queries: readonly string[]
  readonly read: ReadProduct
  readonly window: ShopWindow
}

/** Products as a shop. */
export class Catalogue implements Shop {
  readonly #parts: CatalogueParts
  readonly #kept = new Map<string, Product>()

  constructor(parts: CatalogueParts) {
    this.#parts = parts
  }

  get size(): number {
    return this.#parts.ids.length
  }

  get pageSize(): number {
    return this.#parts.window.pageSize
  }

  /** Position of a product; undefined for an id that none has. */
  positionOf(id: string): number | undefined {
    return this.#parts.positions.get(id)
  }

  /**
   * The best products for the keywords. As in the original, "<c> …" lists a category, and "<q> …" what was found
   * by a query when the shop was made.
   */
  find(keywords: string): readonly string[] {
    const { ids, index, categories, queries, window } = this.#parts
    const [mark, ...words] = keywords.split(' ', 3)
    if (mark === '<c>' && words[0] !== undefined) {
      const category = words[0].trim()
      return ids.filter((_, position) => categories[position] === category)
    }
    if (mark === '<q>') {
      const query = keywords.slice(mark.length).trim()
      return ids.filter((_, position) => queries[position] === query)
    }
    return index.search(keywords, window.resultLimit).map(({ document }) => ids[document] ?? '')
  }

  product(id: string): Product {
    const kept = this.#kept.get(id)
    if (kept !== undefined) return kept
    const position = this.positionOf(id)
    if (position === undefined) throw new RangeError(`the shop has no product "${id}"`)
    const { product } = this.#parts.read(position)
    if (this.#kept.size >= keptProducts) {
      const [oldest] = this.#kept.keys()
      if (oldest !== undefined) this.#kept.delete(oldest)
    }
    this.#kept.set(id, product)
    return product
  }

  price(id: string): number {
    const position = this.positionOf(id)
    return position === undefined ? Number.NaN : (this.#parts.prices[position] ?? Number.NaN)
  }
}
