import { describe, expect, test } from 'vitest'
import { stem } from '../../../worlds/search/porter.ts'
import { difficulties } from '../../contract/task-settings.ts'
import { colorOf, rewardOf, tokenSetRatio } from '../shop/reward.ts'
import {
  colors,
  departmentWords,
  generateProduct,
  openBuiltInShop,
  splitOf,
  titleNouns,
  wares,
} from './generator.ts'

describe.each(difficulties)('the built-in shop, %s', (difficulty) => {
  const library = openBuiltInShop(difficulty)

  test('every goal can be met in full, by every price that the page shows', () => {
    for (const { name } of library.splits)
      for (let index = 0; index < 100; index++) {
        const goal = library.open(library.instanceAt(name, index))
        const product = library.shop.product(goal.productId)
        const options = new Map(
          goal.options.map((option) => ['name' in option ? option.name : '', option.value]),
        )
        for (const [option, value] of options) expect(product.options.get(option)).toContain(value)
        const nouns = titleNouns(product.title)
        for (const price of product.prices)
          expect(
            rewardOf({ product, options, price }, goal, { purchased: nouns, asked: nouns }).reward,
          ).toBeCloseTo(1, 12)
      }
  })

  test('a goal is a function of its id, and splits ask for different products', () => {
    const again = openBuiltInShop(difficulty)
    const asked = library.splits.map(({ name }) => {
      const ids = new Set<string>()
      for (let index = 0; index < 300; index++) {
        const id = library.instanceAt(name, index)
        const goal = library.open(id)
        if (index < 20) expect(again.open(id)).toEqual(goal)
        ids.add(goal.productId)
      }
      return ids
    })
    const all = asked.flatMap((ids) => [...ids])
    expect(new Set(all).size).toBe(all.length)
  })

  test('a run of goals asks for products from all over the shop, whose numbers its ids carry', () => {
    for (const first of [0, 500]) {
      const numbers = Array.from({ length: 100 }, (_, index) =>
        Number(library.open(library.instanceAt('train', first + index)).productId.slice(1)),
      )
      const quarters = new Set(numbers.map((number) => Math.floor((4 * number) / library.shop.size)))
      expect(quarters).toEqual(new Set([0, 1, 2, 3]))
    }
  })

  test('no two products share an id', () => {
    const ids = Array.from({ length: library.shop.size }, (_, index) => generateProduct(difficulty, index).id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(splitOf(9)).toBe('test')
  })
})

test.each(['train', 'train/', 'train/01', 'train/1e3', 'test/2000', 'dev/1', ' test/1'])(
  'any id that no split gives is an unknown instance: "%s"',
  (id) => {
    expect(() => openBuiltInShop('easy').open(id)).toThrow(
      expect.objectContaining({ kind: 'unknown_instance' }),
    )
  },
)

test('no attribute is taken for another of its department', () => {
  for (const { attributes } of Object.values(departmentWords))
    for (const one of attributes)
      for (const other of attributes)
        if (one !== other) {
          expect(tokenSetRatio(one, other)).toBeLessThanOrEqual(85)
          expect(one).not.toContain(other)
        }
})

test('colours count as such, and no other value holds one', () => {
  for (const color of colors) expect(colorOf(color)).toBe(color)
  for (const { sizes, extra } of Object.values(departmentWords))
    for (const value of [...sizes, ...extra.values]) expect(colors).not.toContain(colorOf(value))
  for (const { sizes, extra } of Object.values(departmentWords))
    for (const value of [...sizes, ...extra.values]) expect(colorOf(value)).toBe(value)
})

test('what a ware is called in a title and in an instruction have the same stem', () => {
  for (const { noun, plural } of wares) expect(stem(plural)).toBe(stem(noun))
})
