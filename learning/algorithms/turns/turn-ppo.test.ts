import { expect, it } from 'vitest'
import type { ComparedEpisode } from '../algorithm.ts'
import { turnPpo } from './turn-ppo.ts'

const episode = (turns: ComparedEpisode['turns'], reward: number): ComparedEpisode => ({
  ...{ reward, success: reward >= 1, completed: true, keepsPay: true },
  actionTokens: turns.reduce((sum, { actionTokens }) => sum + actionTokens, 0),
  turns,
})

it('a turn gains what came beyond its value, and later surprises by γλ each', () => {
  // δ = [0 + 0.8 − 0.5, 1 − 0.8], A = [0.3 + 0.9·0.2, 0.2], targets A + V
  const played = episode(
    [
      { reward: 0, actionTokens: 2, value: 0.5 },
      { reward: 1, actionTokens: 3, value: 0.8 },
    ],
    1,
  )
  expect(turnPpo.advantagesOf([{ task: 'db', episodes: [played] }], { discount: 1 })).toEqual([
    [[expect.closeTo(0.48, 12), expect.closeTo(0.2, 12)]],
  ])
  expect(turnPpo.valueTargetsOf?.(played, { discount: 1 })).toEqual([
    expect.closeTo(0.98, 12),
    expect.closeTo(1, 12),
  ])
})

it('the last turn has the penalty of an episode that did not complete, and without values advantages are discounted returns by γλ', () => {
  const lost = {
    ...episode(
      [
        { reward: 0, actionTokens: 1 },
        { reward: 0, actionTokens: 1 },
      ],
      -0.2,
    ),
    completed: false,
  }
  // γλ = 0.5·0.9
  expect(turnPpo.advantagesOf([{ task: 'db', episodes: [lost] }], { discount: 0.5 })).toEqual([
    [[expect.closeTo(-0.09, 12), expect.closeTo(-0.2, 12)]],
  ])
})
