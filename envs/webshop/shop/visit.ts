/**
 * One visit to the shop: which page is shown, what can be clicked there, and what a click or a search leads to.
 *
 * Invariants
 * - A search works on every page; a click works on what the page shows, and on nothing else.
 * - Whatever does not work changes nothing.
 * - Options are chosen for one product, and forgotten when its pages are left.
 * - After a purchase nothing works.
 */
import type { Product, Shop } from './product.ts'

export const subPages = ['Description', 'Features', 'Reviews', 'Attributes'] as const
export type SubPage = (typeof subPages)[number]

/** Where a visit is. */
export type Page =
  | { readonly kind: 'search' }
  | {
      readonly kind: 'results'
      readonly keywords: string
      readonly found: readonly string[]
      /** From 1 on; a page beyond the last result is empty. */
      readonly number: number
    }
  | {
      readonly kind: 'item'
      readonly product: Product
      readonly options: ReadonlyMap<string, string>
    }
  | {
      readonly kind: 'sub'
      readonly product: Product
      readonly options: ReadonlyMap<string, string>
      readonly name: SubPage
    }
  | {
      readonly kind: 'done'
      readonly product: Product
      readonly options: ReadonlyMap<string, string>
    }

type Results = Extract<Page, { kind: 'results' }>

/** The target of a click. */
type Target =
  | { readonly kind: 'button' }
  | { readonly kind: 'product'; readonly id: string }
  | { readonly kind: 'option'; readonly name: string; readonly value: string }

export interface VisitOptions {
  /** Whether product pages lead to a page of attributes; the original hides it. */
  readonly showAttributes: boolean
}

const button: Target = { kind: 'button' }

/** A visit that starts at the search page. */
export class Visit {
  readonly #shop: Shop
  readonly #options: VisitOptions
  #page: Page = { kind: 'search' }
  /** Where "< Prev" leads from a product. */
  #results: Results | undefined
  #targets: ReadonlyMap<string, Target> | undefined

  constructor(shop: Shop, options: VisitOptions) {
    this.#shop = shop
    this.#options = options
  }

  get page(): Page {
    return this.#page
  }

  /** Ids of the products that a page of results shows. */
  get shown(): readonly string[] {
    return this.#page.kind === 'results' ? shownOf(this.#page, this.#shop.pageSize) : []
  }

  /** Everything that can be clicked, in lower case: buttons, then products, then values of options. */
  get clickables(): readonly string[] {
    return [...this.#targetsOf().keys()]
  }

  /** Searches for keywords in lower case. */
  search(keywords: string): void {
    if (this.#page.kind === 'done') return
    const found = this.#shop.find(keywords)
    this.#showResults({ kind: 'results', keywords, found, number: 1 })
  }

  /** Clicks on something, named in lower case. */
  click(name: string): void {
    const target = this.#targetsOf().get(name)
    // The search button sends keywords, of which a click has none.
    if (target === undefined || name === 'search') return
    const page = this.#page
    const subPage = subPages.find((known) => known.toLowerCase() === name)
    if (name === 'back to search') this.#show({ kind: 'search' })
    else if (page.kind === 'results') this.#clickOnResults(page, name, target)
    else if (page.kind !== 'item' && page.kind !== 'sub') return
    else if (name === 'buy now') this.#show({ ...page, kind: 'done' })
    else if (name === '< prev' && page.kind === 'item') this.#back()
    else if (subPage !== undefined) this.#show({ ...page, kind: 'sub', name: subPage })
    else this.#showItem(page, target)
  }

  #clickOnResults(page: Results, name: string, target: Target): void {
    if (target.kind === 'product')
      this.#show({ kind: 'item', product: this.#shop.product(target.id), options: new Map() })
    else if (name === 'next >') this.#showResults({ ...page, number: page.number + 1 })
    else if (name === '< prev') this.#showResults({ ...page, number: page.number - 1 })
  }

  #showItem({ product, options }: Extract<Page, { kind: 'item' | 'sub' }>, target: Target): void {
    const chosen = new Map(options)
    if (target.kind === 'option') chosen.set(target.name, target.value)
    this.#show({ kind: 'item', product, options: chosen })
  }

  #back(): void {
    if (this.#results !== undefined) this.#showResults(this.#results)
  }

  #showResults(page: Results): void {
    this.#results = page
    this.#show(page)
  }

  #show(page: Page): void {
    this.#page = page
    this.#targets = undefined
  }

  #targetsOf(): ReadonlyMap<string, Target> {
    this.#targets ??= targetsOf(this.#page, this.#shop.pageSize, this.#options)
    return this.#targets
  }
}

function shownOf({ found, number }: Results, pageSize: number): readonly string[] {
  return found.slice((number - 1) * pageSize, number * pageSize)
}

/** The buttons of a page, as they are written there. */
export function buttonsOf(page: Page, { showAttributes }: VisitOptions): string[] {
  switch (page.kind) {
    case 'search':
      return ['Search']
    case 'results':
      return ['Back to Search', ...(page.number > 1 ? ['< Prev'] : []), 'Next >']
    case 'item':
      return [
        'Back to Search',
        '< Prev',
        ...subPages.filter((name) => showAttributes || name !== 'Attributes'),
        'Buy Now',
      ]
    case 'sub':
      return ['Back to Search', '< Prev']
    case 'done':
      return []
  }
}

function targetsOf(page: Page, pageSize: number, options: VisitOptions): Map<string, Target> {
  const targets = new Map<string, Target>()
  for (const name of buttonsOf(page, options)) targets.set(name.toLowerCase(), button)
  if (page.kind === 'results')
    for (const id of shownOf(page, pageSize)) targets.set(id.toLowerCase(), { kind: 'product', id })
  if (page.kind === 'item')
    // A value that several options share belongs to the last of them.
    for (const [name, values] of page.product.options)
      for (const value of values) targets.set(value, { kind: 'option', name, value })
  return targets
}
