/**
 * Pages as the original prints them for agents: its HTML's visible texts, joined by " [SEP] ".
 *
 * Invariants
 * - A page's text depends on the page and the instruction alone.
 * - A text of blanks only still takes its place, as an empty segment, unless it holds a line break.
 * - Everything that can be clicked has the name that a click uses, except for letter case.
 * - Chosen options are marked by a star, which the original's texts do not show.
 */
import type { Shop } from './product.ts'
import { floatText, jsonText, strip } from './python-text.ts'
import { buttonsOf, type Page, type SubPage, type VisitOptions } from './visit.ts'

const separator = ' [SEP] '

/** Everything beside a page that its text depends on. */
export interface PageSetting extends VisitOptions {
  readonly shop: Shop
  readonly instruction: string
  /** The reward of the purchase, on the last page. */
  readonly reward: number
}

/** The text of a page. */
export function pageText(page: Page, setting: PageSetting): string {
  return textsOf(page, setting).flatMap(segment).join(separator)
}

/** Splits a text as the HTML parser does: blanks become one blank or line break, and line breaks are left out. */
function segment(text: string): string[] {
  if (text === '') return []
  if (/^[ \n\t\f\r]+$/.test(text)) return text.includes('\n') ? [] : ['']
  return [strip(text)]
}

function textsOf(page: Page, setting: PageSetting): string[] {
  if (page.kind === 'search') return ['WebShop', 'Instruction:', setting.instruction, 'Search']
  if (page.kind === 'done') return doneTexts(page, setting.reward)
  const head = ['Instruction:', setting.instruction]
  const buttons = buttonsOf(page, setting)
  switch (page.kind) {
    case 'results': {
      const [back = '', ...others] = buttons
      const { shop } = setting
      const count = `Page ${page.number} (Total results: ${page.found.length})`
      const shown = page.found.slice((page.number - 1) * shop.pageSize, page.number * shop.pageSize)
      const products = shown.flatMap((id) => {
        const { title, priceTag } = shop.product(id)
        return [id, title, priceTag]
      })
      return [...head, back, count, ...others, ...products]
    }
    case 'item': {
      const { title, priceTag, rating, options } = page.product
      const offered = [...options].flatMap(([name, values]) => [name, ...values])
      return [
        ...head,
        ...buttons.slice(0, 2),
        ...offered,
        title,
        `Price: ${priceTag}`,
        `Rating: ${rating}`,
        ...buttons.slice(2),
      ]
    }
    case 'sub':
      return [...head, ...buttons, ...subPageTexts[page.name](page)]
  }
}

const subPageTexts: Readonly<Record<SubPage, (page: Extract<Page, { kind: 'sub' }>) => string[]>> = {
  Description: ({ product }) => [product.description],
  // The template has a blank before each, so that even an empty one is a text.
  Features: ({ product }) => product.features.map((feature) => ` ${feature}`),
  Reviews: ({ product }) => product.reviews.flatMap(({ title, score, body }) => [`"${title}"`, score, body]),
  Attributes: ({ product }) => [
    ...product.attributes.map((attribute) => ` ${attribute}`),
    product.category,
    product.query,
    product.categoryPath,
  ],
}

// The original prints neither purchase nor goal on its last page, although it has places for them.
const none = 'None'

function doneTexts({ product, options }: Extract<Page, { kind: 'done' }>, reward: number): string[] {
  return [
    'Thank you for shopping with us!',
    'Your code:',
    none,
    '(Paste it in your MTurk interface.)',
    'Purchased',
    ...['asin', product.id, 'options', jsonText(options), 'attrs', none, 'category', none],
    ...['query', none, 'product category', none],
    'Target',
    ...['asin', 'options', 'attrs', 'price upper', 'instuction text', 'category', 'product category'],
    ...['query', 'Goal', none],
    'Reward',
    ...['Your score (min 0.0, max 1.0)', floatText(reward), 'Reward Details', none],
  ]
}

/** The brief text of a page. */
export function briefText(page: Page, setting: PageSetting): string {
  switch (page.kind) {
    case 'search':
      return 'Search'
    case 'results': {
      const { shop } = setting
      const shown = page.found.slice((page.number - 1) * shop.pageSize, page.number * shop.pageSize)
      const lines = shown.map((id) => {
        const { title, priceTag } = shop.product(id)
        return `${id} ${title} ${priceTag}`
      })
      return [`Page ${page.number} of ${page.found.length} results`, ...lines, foot(page, setting)].join('\n')
    }
    case 'item': {
      const { product, options } = page
      const offered = [...product.options].map(([name, values]) => {
        const marked = values.map((value) => (options.get(name) === value ? `*${value}` : value))
        return `${name}: ${marked.join(', ')}`
      })
      return [`${product.id} ${product.title} ${product.priceTag}`, ...offered, foot(page, setting)].join(
        '\n',
      )
    }
    case 'sub':
      return [...subTexts[page.name](page), foot(page, setting)].join('\n')
    case 'done':
      return `Bought ${page.product.id}, score ${floatText(setting.reward)}`
  }
}

function foot(page: Page, setting: PageSetting): string {
  return buttonsOf(page, setting).join(', ')
}

const subTexts: Readonly<Record<SubPage, (page: Extract<Page, { kind: 'sub' }>) => readonly string[]>> = {
  Description: ({ product }) => [product.description],
  Features: ({ product }) => product.features,
  Reviews: ({ product }) => product.reviews.map(({ title, score, body }) => `${title} (${score}) ${body}`),
  Attributes: ({ product }) => [product.attributes.join(', '), product.categoryPath],
}
