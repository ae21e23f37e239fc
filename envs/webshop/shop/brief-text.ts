/**
 * Pages in few words, for policies to which every token is dear: the same facts as the original's pages, without
 * the instruction, which the first message has said.
 *
 * Invariants
 * - Everything that can be clicked has the name that a click uses, except for letter case.
 * - Chosen options are marked by a star, which the original's texts do not show.
 */

import type { PageSetting } from './page-text.ts'
import { floatText } from './python-text.ts'
import { buttonsOf, type Page, type SubPage } from './visit.ts'

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
