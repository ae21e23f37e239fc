import fc from 'fast-check'
import { expect, test } from 'vitest'
import { difficulties } from '../contract/task-settings.ts'
import { webshop } from './definition.ts'
import { createExpert, readWish } from './expert.ts'

test('a wish is read from the wording of an instruction', () => {
  expect(
    readWish(
      "Find me soft men's hats with lace for rain with color: red, and fit type: men, and price lower than 50.00 dollars",
    ),
  ).toEqual({
    words: "soft men's hats with lace for rain",
    options: [
      { name: 'color', value: 'red' },
      { name: 'fit type', value: 'men' },
    ],
    priceLimit: 50,
  })
  expect(readWish('i need a hat')).toEqual({
    words: 'i need a hat',
    options: [],
    priceLimit: Number.POSITIVE_INFINITY,
  })
})

test.each(difficulties)(
  'the expert buys what is asked for in nearly all goals that are %s, in few turns',
  async (difficulty) => {
    const task = await webshop.open({ settings: { difficulty } })
    const turns: number[] = []
    for (let index = 0; index < 60; index++) {
      const demonstration = await task.demonstrate?.(task.instanceAt('validation', index))
      if (demonstration !== undefined) turns.push(demonstration.actions.length)
    }
    await task.close()
    expect(turns.length).toBeGreaterThanOrEqual(57)
    expect(turns.reduce((sum, count) => sum + count, 0) / turns.length).toBeLessThan(
      difficulty === 'easy' ? 5 : 9,
    )
  },
)

test('what it cannot read is undefined, never thrown, and it comes to an end', () => {
  fc.assert(
    fc.property(fc.array(fc.string(), { maxLength: 5 }), (pages) => {
      const expert = createExpert()
      expert.next('WebShop [SEP] Instruction: [SEP] Find me hats [SEP] Search')
      for (const page of pages) expert.next(page)
      expect(
        expert.next('a [SEP] b [SEP] c [SEP] Page 9 (Total results: 0) [SEP] < Prev [SEP] Next >'),
      ).toBeUndefined()
    }),
  )
})
