/**
 * Refill: groups that teach nothing make room for others, so that an update learns from as many as it should.
 * Source: dynamic sampling of DAPO, arXiv 2503.14476; here with a bound, so that an update comes in any case.
 *
 * Invariants
 * - [REFILL-1] For one update at most `refill · B` groups are skipped; what teaches nothing beyond them fills its batch.
 * - [REFILL-2] Which groups an update trains on follows from the groups that were played for it, whatever the order in which
 *   they ended.
 * - [REFILL-3] A group alone decides whether it teaches something: by its rewards, or where these are equal by its turns, if the algorithm
 *   or step groups compare them.
 */
import { algorithms, isAlgorithmName } from '../algorithms/algorithms.ts'
import { type BatchGroup, batchAdvantages } from '../algorithms/batch-advantages.ts'
import { hasPreference } from '../algorithms/group-rewards.ts'
import { type ImitationRules, imitatesAlone, imitationShares } from '../algorithms/imitation.ts'
import type { StepGroupRules } from '../algorithms/step-groups.ts'
import type { TaskNormalization } from '../algorithms/task-normalization.ts'
import { fullReward, type RewardRules } from '../evaluation/reward.ts'

/** The rules of learning that decide whether a group teaches something. */
interface LessonRules extends Pick<ImitationRules, 'algorithm' | 'imitation'> {
  readonly taskNormalization: TaskNormalization
  readonly stepGroups: StepGroupRules
}

/**
 * Whether the turns of a group of equal rewards may teach something. They do not where a module has the algorithm: what it compares is
 * known in the update alone.
 */
export function turnsMayTeach(rules: LessonRules): boolean {
  const { algorithm, stepGroups } = rules
  if (imitatesAlone(rules) || !isAlgorithmName(algorithm)) return false
  return stepGroups.weight > 0 || algorithms[algorithm].comparesTurns === true
}

/** Whether a group teaches something, by its rewards or by its turns. @throws RangeError as `batchAdvantages` */
export function groupTeaches(group: BatchGroup, rules: LessonRules): boolean {
  if (teaches(group.rewards, rules, { atLeast: group.atLeast ?? fullReward })) return true
  const { algorithm } = rules
  if (!turnsMayTeach(rules) || !isAlgorithmName(algorithm)) return false
  return batchAdvantages(algorithms[algorithm], [group], rules).groups[0]?.preference === true
}

/**
 * Whether a group teaches something by its rewards: they differ, or, where nothing but imitation is learnt, one of its episodes is
 * imitated. In the published arithmetic of task normalization, and where rewards are not read, every group teaches something.
 * @param rewards [group]
 */
export function teaches(
  rewards: readonly number[],
  rules: Omit<LessonRules, 'stepGroups'>,
  of: Pick<RewardRules, 'atLeast'>,
): boolean {
  if (imitatesAlone(rules))
    return imitationShares(rewards, { ...of, by: rules.imitation.by }).some((share) => share > 0)
  const { algorithm } = rules
  const ignoresRewards = isAlgorithmName(algorithm) && algorithms[algorithm].ignoresRewards === true
  return ignoresRewards || rules.taskNormalization === 'per_task_published' || hasPreference(rewards)
}

/** The settings that bound the skipped groups. */
export interface RefillBound {
  /** B, groups of one update. */
  readonly groupsPerUpdate: number
  /** Groups that may be skipped for an update, as a multiple of B. */
  readonly refill: number
}

/** Groups that may be skipped for one update. @example mostSkipped({ groupsPerUpdate: 16, refill: 2 }) // 32 */
export function mostSkipped({ groupsPerUpdate, refill }: RefillBound): number {
  return Math.floor(groupsPerUpdate * refill)
}

/**
 * Which of the groups played for an update it trains on: all that teach something, and the first of the others while there are
 * fewer than B.
 * @param teaches [groups] in the order of their numbers
 * @returns [groups], same order
 * @example trainedOn([false, true, false, true], 3) // [true, true, false, true]
 */
export function trainedOn(teaches: readonly boolean[], groupsPerUpdate: number): boolean[] {
  let places = groupsPerUpdate - teaches.filter((one) => one).length
  return teaches.map((one) => {
    if (one) return true
    places -= 1
    return places >= 0
  })
}
