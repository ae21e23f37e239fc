/**
 * What a shop offers: its products, found by text or by name.
 *
 * Invariants
 * - Equal keywords find equal products in equal order.
 */
import type { Product } from './product.ts'

export interface Shop {
  readonly size: number
  /** Results of a page. */
  readonly pageSize: number
  /** Ids of what the keywords find, the best first; at most so many as the shop shows. */
  find(keywords: string): readonly string[]
  /** The product of an id that `find` gave. */
  product(id: string): Product
  /** What a product costs, in dollars; one price even where its page shows a range. */
  price(id: string): number
}
