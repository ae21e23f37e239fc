import { expect, it } from 'vitest'
import { percent } from './percent.ts'

it('a share is a percentage with one digit, and no figure where it is no number', () => {
  expect([percent(0.4137), percent(1), percent(0.5, 0), percent(Number.NaN)]).toEqual([
    '41.4 %',
    '100.0 %',
    '50 %',
    '–',
  ])
})
