/**
 * REINFORCE++ with the group's mean as baseline: an episode's advantage is R − m, and the advantages of the whole batch are
 * normalized together over its action tokens: (A − μ) / (σ + 1e-6). The loss is that of GRPO.
 * Source: arXiv 2501.03262.
 */
import type { Algorithm } from './algorithm.ts'
import { drGrpo } from './dr-grpo.ts'

export const reinforcePp: Algorithm = { ...drGrpo, name: 'reinforce_pp', normalizesBatch: true }
