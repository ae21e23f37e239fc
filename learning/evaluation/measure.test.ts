import { expect, it } from 'vitest'
import { type MeasuredEpisode, measureFigures, measureNames, measures } from './measure.ts'

const episode = (reward: number, turns: number): MeasuredEpisode => ({
  success: reward >= 1,
  reward,
  turns,
  actionTokens: 10 * turns,
})

it('a measure is the mean over all episodes, between the ends of its interval', () => {
  // Two samples of the first instance, one of the second.
  const found = measureFigures([[episode(1, 2), episode(2, 4)], [episode(1.5, 3)]], 1)
  expect(found).toMatchObject({ reward: { value: 1.5 }, turns: { value: 3 }, tokens: { value: 30 } })
  for (const { value, low, high } of Object.values(found)) {
    expect(low).toBeLessThanOrEqual(value)
    expect(high).toBeGreaterThanOrEqual(value)
  }
})

// [MEASURE-1]
it('an interval draws instances: more samples of the same two instances leave it as wide', () => {
  const wide = measureFigures([[episode(0, 1)], [episode(2, 1)]], 1).reward
  const many = measureFigures([Array(50).fill(episode(0, 1)), Array(50).fill(episode(2, 1))], 1).reward
  expect([wide.low, wide.high]).toEqual([0, 2])
  expect(many).toEqual(wide)
  expect(measureFigures([[episode(0, 1)], [episode(2, 1)]], 1).reward).toEqual(wide)
})

it('success and reward are better when larger, turns and tokens when smaller', () => {
  expect(measureNames.map((name) => measures[name].better)).toEqual(['higher', 'higher', 'lower', 'lower'])
  expect(measureNames.map((name) => measures[name].of(episode(0.5, 4)))).toEqual([0, 0.5, 4, 40])
})
