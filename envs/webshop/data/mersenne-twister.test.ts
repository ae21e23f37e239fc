import { expect, test } from 'vitest'
import { shuffledOrder } from './mersenne-twister.ts'

test('the same seed gives the permutation that CPython 3 gives', () => {
  // python3 -c "import random; l = list(range(20)); random.seed(233); random.shuffle(l); print(l)"
  expect([...shuffledOrder(20, 233)]).toEqual([
    17, 18, 9, 2, 8, 19, 11, 10, 12, 0, 3, 4, 14, 13, 1, 6, 15, 7, 16, 5,
  ])
  expect([...shuffledOrder(5000, 233).slice(0, 4)]).toEqual([4762, 4128, 335, 4300])
  expect([...shuffledOrder(0, 1), ...shuffledOrder(1, 1)]).toEqual([0])
})
