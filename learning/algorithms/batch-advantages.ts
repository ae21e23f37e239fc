/**
 * The advantages of an update's batch by its algorithm, with those of steps where steps are compared.
 *
 * Invariants
 * - A unit has one advantage: an episode, one of its turns or one of its action tokens, as the algorithm says.
 * - [PREFERENCE-1] A group has a preference where one of its units has an advantage other than 0, by the algorithm or by its steps,
 *   also where all of its rewards are equal.
 * - It is plain data, so that it may come from the thread of a module.
 */
import { fullReward, isSuccess } from '../evaluation/reward.ts'
import type { Algorithm, ComparedGroup, EpisodeAdvantage, TurnAdvantage } from './algorithm.ts'
import { checkRewards } from './group-rewards.ts'
import { type StepGroupRules, type SteppedEpisode, stepAdvantages } from './step-groups.ts'
import type { WeighedGroup } from './task-normalization.ts'

/** A finished group, as the update sees it. */
export interface BatchGroup {
  readonly task: string
  /** Absent where it is not known. */
  readonly instance?: string
  /** [group] */
  readonly rewards: readonly number[]
  /** [group] action tokens of each episode. */
  readonly actionTokens: readonly number[]
  /** Reward of a success; that of a task that is solved where it is absent. */
  readonly atLeast?: number
  /** Its weight beside a group that was played for the update; absent: it is one. */
  readonly replayWeight?: number
  /** [group] the steps of each episode, with the action tokens of each turn; needed where turns have advantages of their own. */
  readonly episodes?: readonly PlayedEpisode[]
}

/** An episode with what its turns may be compared by. */
export interface PlayedEpisode extends SteppedEpisode {
  readonly completed: boolean
  readonly turnTokens: readonly number[]
  /** [turns] the learnt value of each, where the algorithm reads values. */
  readonly values?: readonly number[] | undefined
}

/** The units of a group, [units] each. */
export interface Units extends WeighedGroup {
  /** To which episode of its group each unit belongs. */
  readonly owners: readonly number[]
  /** To which of its turns; −1: to all. */
  readonly turns: readonly number[]
}

export interface BatchAdvantages {
  /** [groups] */
  readonly groups: readonly Units[]
  /** As of the algorithm. */
  readonly normalizesBatch: boolean
  /** [groups][group][turns] the targets of learnt values, where the algorithm reads values. */
  readonly valueTargets?: readonly (readonly (readonly number[])[])[]
}

/** How the episodes of a batch are compared. */
export interface ComparisonRules {
  readonly stepGroups: StepGroupRules
  /** Groups of earlier updates, for an algorithm that reads them. */
  readonly earlier?: readonly BatchGroup[]
}

/**
 * Compares the episodes of a batch.
 * @throws RangeError a group of fewer than two rewards, a reward not finite, lengths that do not fit
 */
export function batchAdvantages(
  algorithm: Algorithm,
  groups: readonly BatchGroup[],
  { stepGroups, earlier }: ComparisonRules,
): BatchAdvantages {
  for (const { rewards } of groups) checkRewards(rewards)
  const compared = groups.map(comparedGroup)
  const settings = {
    discount: stepGroups.discount,
    ...(earlier === undefined ? {} : { earlier: earlier.map(comparedGroup) }),
  }
  const found = algorithm.advantagesOf(compared, settings)
  const valueTargets =
    algorithm.valueTargetsOf &&
    compared.map(({ episodes }) =>
      episodes.map((episode) => algorithm.valueTargetsOf?.(episode, settings) ?? []),
    )
  return {
    groups: groups.map((group, index) => unitsOf(group, found[index] ?? [], stepGroups, algorithm)),
    normalizesBatch: algorithm.normalizesBatch === true,
    ...(valueTargets && { valueTargets }),
  }
}

/** A group as algorithms compare it. */
export function comparedGroup({ task, rewards, atLeast = fullReward, ...group }: BatchGroup): ComparedGroup {
  const { actionTokens, episodes, instance } = group
  return {
    task,
    ...(instance === undefined ? {} : { instance }),
    episodes: rewards.map((reward, sample) => {
      const {
        completed = true,
        keepsPay = true,
        steps = [],
        turnTokens = [],
        values,
      } = episodes?.[sample] ?? {}
      const turns = steps.map(({ state, paid }, turn) => ({
        reward: paid,
        actionTokens: turnTokens[turn] ?? 0,
        ...(state === undefined ? {} : { state }),
        ...(values === undefined ? {} : { value: values[turn] ?? 0 }),
      }))
      const success = isSuccess(reward, { atLeast })
      return { reward, success, completed, keepsPay, actionTokens: actionTokens[sample] ?? 0, turns }
    }),
  }
}

interface Unit {
  readonly owner: number
  readonly turn: number
  readonly tokens: number
  readonly advantage: number
}

function unitsOf(
  { task, actionTokens, episodes }: BatchGroup,
  advantages: readonly EpisodeAdvantage[],
  stepGroups: StepGroupRules,
  algorithm: Algorithm,
): Units {
  const steps =
    stepGroups.weight === 0 || episodes === undefined
      ? undefined
      : stepAdvantages(episodes, stepGroups, algorithm)
  const units = advantages.flatMap((advantage, owner): Unit[] => {
    const turnTokens = episodes?.[owner]?.turnTokens ?? []
    if (typeof advantage === 'number' && steps === undefined)
      return [{ owner, turn: -1, tokens: actionTokens[owner] ?? 0, advantage }]
    return turnTokens.flatMap((tokens, turn) => {
      const own = typeof advantage === 'number' ? advantage : (advantage[turn] ?? 0)
      const ofStep = steps === undefined ? 0 : stepGroups.weight * (steps[owner]?.[turn] ?? 0)
      if (typeof own === 'number') return [{ owner, turn, tokens, advantage: own + ofStep }]
      return own.map((each) => ({ owner, turn, tokens: 1, advantage: each + ofStep }))
    })
  })
  return {
    task,
    preference: units.some(({ advantage }) => advantage !== 0),
    advantages: units.map(({ advantage }) => advantage),
    actionTokens: units.map(({ tokens }) => tokens),
    owners: units.map(({ owner }) => owner),
    turns: units.map(({ turn }) => turn),
  }
}

/** Advantages of units by episode. @returns [group][1] of all its tokens, or [group][turns] */
export function byEpisode(
  { advantages, owners, turns }: Units,
  { rewards, episodes }: BatchGroup,
): TurnAdvantage[][] {
  const units = [...owners.keys()]
  return rewards.map((_, sample) => {
    const own = units.filter((unit) => owners[unit] === sample)
    const of = (turn: number): TurnAdvantage => {
      const found = own.flatMap((unit) => (turns[unit] === turn ? [advantages[unit] ?? 0] : []))
      return found.length === 1 ? (found[0] ?? 0) : found
    }
    return own.some((unit) => turns[unit] === -1)
      ? [of(-1)]
      : (episodes?.[sample]?.turnTokens ?? []).map((_, turn) => of(turn))
  })
}
