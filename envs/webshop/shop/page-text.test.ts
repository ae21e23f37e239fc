import { expect, test } from 'vitest'
import { briefText, type PageSetting, pageText } from './page-text.ts'
import { toyProduct, toyShop } from './toy.testing.ts'
import type { Page } from './visit.ts'

const hat = toyProduct('A1', {
  title: ' Red <Hat>\n',
  features: ['warm', '', '\n', '\u00a0'],
  reviews: [{ title: 'Nice', score: '5', body: '' }],
  attributes: ['soft'],
  options: new Map([['color', ['red', 'blue']]]),
})
const setting: PageSetting = {
  shop: toyShop([hat]),
  instruction: 'Find me a hat',
  showAttributes: false,
  reward: 0.75,
}
const none = new Map<string, string>()
const head = 'Instruction: [SEP] Find me a hat [SEP] Back to Search [SEP] '

const pages: [Page, string][] = [
  [{ kind: 'search' }, 'WebShop [SEP] Instruction: [SEP] Find me a hat [SEP] Search'],
  [{ kind: 'results', keywords: 'x', found: [], number: 1 }, `${head}Page 1 (Total results: 0) [SEP] Next >`],
  [
    { kind: 'results', keywords: 'x', found: ['A1'], number: 1 },
    `${head}Page 1 (Total results: 1) [SEP] Next > [SEP] A1 [SEP] Red <Hat> [SEP] $10.0`,
  ],
  [
    { kind: 'results', keywords: 'x', found: ['A1'], number: 2 },
    `${head}Page 2 (Total results: 1) [SEP] < Prev [SEP] Next >`,
  ],
  [
    { kind: 'item', product: hat, options: none },
    `${head}< Prev [SEP] color [SEP] red [SEP] blue [SEP] Red <Hat> [SEP] Price: $10.0 [SEP] Rating: N.A. [SEP] Description [SEP] Features [SEP] Reviews [SEP] Buy Now`,
  ],
  [{ kind: 'sub', name: 'Description', product: hat, options: none }, `${head}< Prev`],
  // A text of blanks only is left out where it has a line break; otherwise it takes an empty place.
  [{ kind: 'sub', name: 'Features', product: hat, options: none }, `${head}< Prev [SEP] warm [SEP]  [SEP] `],
  [{ kind: 'sub', name: 'Reviews', product: hat, options: none }, `${head}< Prev [SEP] "Nice" [SEP] 5`],
  [
    { kind: 'sub', name: 'Attributes', product: hat, options: none },
    `${head}< Prev [SEP] soft [SEP] toys [SEP] toys [SEP] Toys › Small Toys › Any`,
  ],
]

test.each(pages)('a page is printed as the original prints it: %j', (page, text) => {
  expect(pageText(page, setting)).toBe(text)
})

test('the last page shows the purchase and what it earned', () => {
  const page: Page = {
    kind: 'done',
    product: hat,
    options: new Map([
      ['size', "9'"],
      ['color', 'red'],
    ]),
  }
  const text = pageText(page, setting)
  expect(text).toContain('options [SEP] {"color": "red", "size": "9\\u0027"} [SEP] attrs')
  expect(text).toMatch(/Your score \(min 0\.0, max 1\.0\) \[SEP\] 0\.75 \[SEP\] Reward Details \[SEP\] None$/)
})

test('brief pages name all that can be clicked, and mark what is chosen', () => {
  const item: Page = { kind: 'item', product: hat, options: new Map([['color', 'blue']]) }
  const text = briefText(item, setting)
  expect(text).toContain('color: red, *blue')
  for (const button of ['Back to Search', '< Prev', 'Description', 'Features', 'Reviews', 'Buy Now'])
    expect(text).toContain(button)
  for (const [page] of pages)
    expect(briefText(page, setting).length).toBeLessThan(pageText(page, setting).length)
  expect(briefText({ ...item, kind: 'done' }, setting)).toBe('Bought A1, score 0.75')
})
