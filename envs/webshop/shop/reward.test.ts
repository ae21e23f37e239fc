import fc from 'fast-check'
import { expect, test } from 'vitest'
import { drawPriceLimit, type Goal, noPriceLimit, priceLimitText } from './goal.ts'
import type { Product } from './product.ts'
import { colorAmong, colorOf, rewardOf, tokenSetRatio } from './reward.ts'
import { toyProduct } from './toy.testing.ts'

const goal: Goal = {
  productId: 'A1',
  title: 'Norva rubber boot',
  query: 'boots',
  categoryPath: 'Shoes › Boots › Rain',
  text: '',
  attributes: ['rubber sole', 'water proof'],
  options: [
    { name: 'color', value: 'navy blue' },
    { name: 'size', value: '9' },
  ],
  priceLimit: 20,
}

const nouns = { purchased: ['norva', 'boot'], asked: ['norva', 'boot', 'boot'] }

function judged(product: Partial<Product>, options: [string, string][] = [], price = 10): number {
  const bought = toyProduct('A2', { query: 'boots', ...product })
  return rewardOf({ product: bought, options: new Map(options), price }, goal, nouns).reward
}

test('a reward is what is met of attributes, options and price, by what is asked', () => {
  // Asked: two attributes, two options, one price limit.
  expect(judged({})).toBeCloseTo(1 / 5, 12)
  expect(judged({}, [], 20.01)).toBe(0)
  expect(judged({ attributes: ['rubber outsole'] })).toBeCloseTo(2 / 5, 12)
  expect(judged({ description: 'Very Water Proof.' })).toBeCloseTo(2 / 5, 12)
  expect(
    judged({}, [
      ['color', 'dark blue'],
      ['size', '9'],
    ]),
  ).toBeCloseTo(3 / 5, 12)
})

test('options are compared by their colours, and with the words of the name that is asked for', () => {
  // The chosen "royal blue" counts as its colour, "blue", whose only word the asked pair has.
  expect(judged({}, [['shade', 'royal blue']])).toBeCloseTo(2 / 5, 12)
  // As in the original, a value that is the option's name is met as well.
  expect(judged({}, [['any', 'size']])).toBeCloseTo(2 / 5, 12)
})

test.each([
  // Query, category path, nouns of the purchase, factor: of three nouns asked for, two are different.
  ['boots', 'Other', ['boot'], 1],
  ['hats', 'Shoes › Boots', ['boot'], 1],
  ['hats', 'Shoes › Hats', ['boot'], 1],
  ['boots', 'Other', ['hat'], 0],
])('the type factor of %s in %s with the nouns %j is %d', (query, categoryPath, purchased, factor) => {
  const product = toyProduct('A2', { query, categoryPath })
  const purchase = { product, options: new Map<string, string>(), price: 1 }
  const { reward, parts } = rewardOf(purchase, goal, { ...nouns, purchased })
  expect(parts.r_type).toBe(factor)
  // The price is met, which is one of five things that are asked for.
  expect(reward).toBeCloseTo(factor / 5, 12)
})

test('a low title score costs half where neither query nor categories agree, and nine tenths below 0.1', () => {
  const product = toyProduct('A2', { query: 'hats', categoryPath: 'Other' })
  const purchase = { product, options: new Map<string, string>(), price: 1 }
  const asked = (count: number): string[] => Array.from({ length: count }, (_, at) => `noun${at}`)
  const factor = (count: number): number =>
    rewardOf(purchase, goal, { purchased: ['noun0'], asked: asked(count) }).parts.r_type
  expect([1, 4, 5, 10, 11].map(factor)).toEqual([1, 1, 0.5, 0.5, 0.1])
  expect(rewardOf(purchase, goal, { purchased: [], asked: [] }).parts).toMatchObject({
    title_score: 0.2,
    r_type: 0.5,
  })
})

test('a price limit is one of the next four tens above the price, never the first', () => {
  const limits = new Set<number>()
  for (let first = 0; first < 1; first += 0.1)
    for (let second = 0; second < 1; second += 0.1) {
      const draws = [first, second]
      limits.add(drawPriceLimit(19.99, () => draws.shift() ?? 0))
    }
  expect([...limits].sort()).toEqual([30, 40, 50])
  expect(drawPriceLimit(985, () => 0)).toBe(noPriceLimit)
  expect(priceLimitText(30)).toBe(', and price lower than 30.00 dollars')
  expect(priceLimitText(noPriceLimit)).toBe('')
})

// Expected ratios were computed by thefuzz 0.22.
test.each([
  ['rubber outsole', 'rubber sole', 88],
  ['machine washable', 'hand washable', 76],
  ['Blue,  blue RED', 'red blue', 100],
  ['large', "('size', 'x-large')", 100],
  ['dark_grey (pack', 'dark_gyy', 67],
  ['', 'red', 0],
  ['a b', 'c d', 33],
])('%j and %j have the ratio %d', (one, other, ratio) => {
  expect(tokenSetRatio(one, other)).toBe(ratio)
})

test('the ratio is a whole number from 0 to 100, the same whichever text comes first', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', ' ', '-', 'é', '漢'), maxLength: 12 })
  fc.assert(
    fc.property(text, text, (one, other) => {
      const ratio = tokenSetRatio(one, other)
      expect(Number.isInteger(ratio) && ratio >= 0 && ratio <= 100).toBe(true)
      expect(tokenSetRatio(other, one)).toBe(ratio)
    }),
  )
})

test('a colour is the first of the list that a text holds; a text without one stays as it is', () => {
  expect(colorOf('navy blue')).toBe('blue')
  expect(colorOf('x-large')).toBe('x-large')
  expect(colorAmong(['color', 'pink'])).toBe('pink')
  expect(colorAmong(['color', 'pale pink'])).toBeUndefined()
})
