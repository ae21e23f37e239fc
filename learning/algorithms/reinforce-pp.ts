/**
 * REINFORCE++ with the group's mean as baseline: an episode's advantage is R − m, and the advantages of the whole batch are
 * normalized together over its action tokens: (A − μ) / (σ + 1e-6). The loss is that of GRPO.
 * Source: arXiv 2501.03262.
 */
import type { Algorithm } from './algorithm.ts'
import { centredRewards } from './group-rewards.ts'
import { grpo } from './grpo.ts'
import { normalizeByTask } from './task-normalization.ts'

export const reinforcePp: Algorithm = {
  ...grpo,
  advantagesOf: centredRewards,
  normalizedBatch(groups, mode) {
    const asOneTask = groups.map((group) => ({ ...group, task: '' }))
    return normalizeByTask(asOneTask, mode === 'per_task_published' ? mode : 'per_task')
  },
}
