/**
 * Reward of an episode: the sum that the environment paid, and the part of it that an episode keeps which did not complete.
 *
 * Invariants
 * - An infrastructure failure or a cancellation never carries a reward.
 * - [REWARD-1] An episode is a success exactly where its final reward is at least the task's `success.atLeast`; the penalty for not
 *   completing is never a success.
 */
import { isRewarded, type Outcome } from './outcome.ts'

/** The reward of an episode that did not complete: the penalty, the sum that it was paid, or both together. */
export const notCompletedRules = ['penalty', 'keep', 'add'] as const
export type NotCompletedRule = (typeof notCompletedRules)[number]

/** How the episodes of a task are rewarded. */
export interface RewardRules {
  /** Final reward from which on an episode is a success. */
  readonly atLeast: number
  /** Reward from which on a demonstration is imitated. */
  readonly demonstrated: number
  readonly notCompleted: NotCompletedRule
  /** At most 0. */
  readonly penalty: number
}

/** Names as in the configuration. */
interface RewardChoice {
  readonly learning: { readonly notCompletedPenalty: number }
  readonly tasks: readonly {
    readonly task: string
    readonly success?: { readonly atLeast: number; readonly demonstrated?: number | undefined }
    readonly notCompleted?: NotCompletedRule
  }[]
}

/** The rules of a task; where it names none, those of the paper. */
export function rewardRules({ learning, tasks }: RewardChoice, name: string): RewardRules {
  const entry = tasks.find(({ task }) => task === name)
  const atLeast = entry?.success?.atLeast ?? fullReward
  return {
    atLeast,
    demonstrated: entry?.success?.demonstrated ?? atLeast,
    notCompleted: entry?.notCompleted ?? 'penalty',
    penalty: learning.notCompletedPenalty,
  }
}

/** Whether what an episode's turns were paid is part of its reward. */
export function keepsPay(outcome: Outcome, { notCompleted }: Pick<RewardRules, 'notCompleted'>): boolean {
  return outcome === 'completed' || notCompleted !== 'penalty'
}

/**
 * Final reward. Source: arXiv 2510.04206 (penalty −0.2 for episodes that end without completing).
 * @param paid sum of the rewards of the episode's steps
 * @returns null where the outcome carries no reward
 * @throws RangeError an environment's reward that is not finite
 * @example finalReward('turn_limit', 0.4, { notCompleted: 'penalty', penalty: -0.2 }) // -0.2; 'keep': 0.4; 'add': 0.2
 */
export function finalReward(
  outcome: Outcome,
  paid: number,
  rules: Pick<RewardRules, 'notCompleted' | 'penalty'>,
): number | null {
  if (!isRewarded(outcome)) return null
  if (!keepsPay(outcome, rules)) return rules.penalty
  if (!Number.isFinite(paid)) throw new RangeError(`an episode was paid ${paid}, expected a finite reward`)
  return outcome !== 'completed' && rules.notCompleted === 'add' ? paid + rules.penalty : paid
}

/** Larger rewards overflow what learning computes from them, and no task means them. */
export const largestReward = 1e6

/** Reward of a task that is solved, where the task names no other. */
export const fullReward = 1

/**
 * Whether an episode counts as a success.
 * @param reward the final reward; null where the outcome carries none
 * @example isSuccess(0.5, { atLeast: 0.5 }) // true
 */
export function isSuccess(reward: number | null, { atLeast }: Pick<RewardRules, 'atLeast'>): boolean {
  return reward !== null && reward >= atLeast
}

/** Whether a demonstration earns so much; one that names no reward wins. */
export function earnsAtLeast({ reward }: { readonly reward?: number }, atLeast: number): boolean {
  return reward === undefined || isSuccess(reward, { atLeast })
}
