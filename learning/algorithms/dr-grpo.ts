/**
 * Dr. GRPO: an episode's advantage is its reward minus the mean of its group, A = R − m. Without the division by the deviation, a
 * group that is nearly always won or lost has no larger advantages than others. The loss is that of GRPO.
 * Source: arXiv 2503.20783.
 */
import type { Algorithm } from './algorithm.ts'
import { byReward, centredRewards } from './group-rewards.ts'
import { grpo } from './grpo.ts'

export const drGrpo: Algorithm = { ...grpo, name: 'dr_grpo', advantagesOf: byReward(centredRewards) }
