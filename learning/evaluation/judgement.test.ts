import { expect, it } from 'vitest'
import { bestOf, bestVersions } from './best-version.ts'
import { gainOf, judgedFigure, judgedWords } from './judgement.ts'
import { measureFigures } from './measure.ts'

const found = (value: number, of = 'turns', better: 'higher' | 'lower' = 'lower') => ({
  success: 1,
  measured: { of, better, value, low: value - 1, high: value + 1 },
})

it('of two evaluations the one with the better measure gains, whatever their success is', () => {
  expect(gainOf(found(5), found(3))).toBe(2)
  expect(gainOf(found(5, 'score', 'higher'), found(3, 'score', 'higher'))).toBe(-2)
  expect(gainOf({ success: 0.25 }, { success: 0.75 })).toBe(0.5)
  // After a change of the measure two evaluations have only their success in common.
  expect(gainOf(found(5), { ...found(3, 'reward', 'higher'), success: 0.5 })).toBe(-0.5)
})

it('the best version is the best by the measure of its suite [JUDGEMENT-1]', () => {
  const all = [4, 3, 3, 6].map((turns, version) => ({
    ...{ suite: 'short', version, n: 40, planned: 40 },
    ...found(turns),
  }))
  expect(bestOf(all)?.version).toBe(2)
  expect(bestVersions(all, 2)).toEqual([2, 1])
})

it('a metric is read with its own unit and direction, another measure with those of the table', () => {
  const episode = (score: number) => ({
    ...{ success: true, reward: 1, turns: 2, actionTokens: 9 },
    metrics: { score },
  })
  const figures = measureFigures([[episode(40)], [episode(42)]], 1, {
    score: { better: 'lower', unit: 'points' },
  })
  const score = judgedFigure('score', figures)
  expect(score).toEqual({ of: 'score', better: 'lower', unit: 'points', value: 41, low: 40, high: 42 })
  expect(score && judgedWords(score)).toBe('score 41 points (40 to 42)')
  const turns = judgedFigure('turns', figures)
  expect(turns && judgedWords(turns)).toBe('turns 2 (2 to 2)')
  expect(['success', 'unknown', 'toString'].map((of) => judgedFigure(of, figures))).toEqual([
    undefined,
    undefined,
    undefined,
  ])
})
