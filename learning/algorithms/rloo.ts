/**
 * RLOO, leave one out: an episode's advantage is its reward minus the mean of the others' in its group, so that its baseline does
 * not depend on it: A = (R − m) · G / (G − 1). The loss is that of GRPO.
 * Source: arXiv 2402.14740.
 */
import type { Algorithm } from './algorithm.ts'
import { byReward, centredRewards } from './group-rewards.ts'
import { grpo } from './grpo.ts'

export const rloo: Algorithm = {
  ...grpo,
  name: 'rloo',
  advantagesOf: byReward((rewards) => {
    const factor = rewards.length / (rewards.length - 1)
    return centredRewards(rewards).map((value) => value * factor)
  }),
}
