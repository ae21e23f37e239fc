import { expect, test } from 'vitest'
import { advantageAt, advantageSpan, type TrajectoryLearnt } from './trajectory.ts'

const whole: TrajectoryLearnt = { update: 2, version: 2, advantage: 0.5, batch: { file: 'b', begin: 0 } }
const stepped: TrajectoryLearnt = { ...whole, turns: [1.5, -1, 1] }

// [SHOWN-ADVANTAGE-1]
test('a token has the advantage of its turn where turns have their own, its own where tokens have, and the episode’s where neither has', () => {
  expect([0, 1, 2].map((turn) => advantageAt(stepped, turn, 0))).toEqual([1.5, -1, 1])
  expect([0, 1, 2].map((turn) => advantageAt(whole, turn, 0))).toEqual([0.5, 0.5, 0.5])
  const tokens: TrajectoryLearnt = { ...whole, turns: [[1.5, -1], 1] }
  expect([advantageAt(tokens, 0, 1), advantageAt(tokens, 1, 1)]).toEqual([-1, 1])
  // A turn that no advantage is known of is not shown with the mean.
  expect(advantageAt(stepped, 3, 0)).toBeNaN()
})

test('the span of an episode is from its least to its largest advantage', () => {
  expect(advantageSpan(stepped)).toEqual([-1, 1.5])
  expect(advantageSpan(whole)).toEqual([0.5, 0.5])
})
