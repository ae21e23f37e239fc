/**
 * Learning signal: what an update's groups had to teach, and a run that is taught nothing.
 *
 * Invariants
 * - Pure. An update whose groups have no preference teaches nothing: that is a state with a cause and a way out.
 * - The state is of constant size, however long it lasts.
 */
import { percent } from '../statistics/percent.ts'

/** The learning signal of one update's groups. */
export interface LearningSignal {
  readonly groups: number
  /** Groups in which something was better than something else: an episode, or a turn where those are compared. */
  readonly withPreference: number
  /** Groups of which every episode was a success, and of which none was. */
  readonly won: number
  readonly lost: number
  /** Share of the actions that could not be used, and that were cut off at the limit of a turn's tokens. */
  readonly unusable: number
  readonly cutOff: number
}

/** Why nothing is learnt. */
export type StandstillCause =
  | 'all_won'
  | 'unusable_actions'
  | 'cut_off_actions'
  | 'all_lost'
  | 'equal_rewards'

/** Updates in a row that had nothing to learn from. */
export interface Standstill extends Omit<LearningSignal, 'withPreference'> {
  readonly updates: number
  /** The cause in the latest update. */
  readonly cause: StandstillCause
}

/** From this share on, actions that cannot be used explain why every episode is lost. */
const manyUnusable = 0.25

/** After fewer updates it may be chance that none had anything to learn from. */
const fewUpdates = 5

/** The standstill after an update; null where it had something to learn from. */
export function standstillAfter(before: Standstill | null, signal: LearningSignal): Standstill | null {
  const { withPreference, ...latest } = signal
  if (withPreference > 0) return null
  return { ...latest, updates: (before?.updates ?? 0) + 1, cause: causeOf(signal) }
}

function causeOf({ groups, won, lost, unusable, cutOff }: LearningSignal): StandstillCause {
  if (won === groups) return 'all_won'
  if (lost < groups) return 'equal_rewards'
  if (unusable < manyUnusable) return 'all_lost'
  return cutOff >= unusable / 2 ? 'cut_off_actions' : 'unusable_actions'
}

/** The learning of a run so far. */
export interface LearningCourse {
  /** Updates done. */
  readonly step: number
  /** Updates that had nothing to learn from. */
  readonly emptyUpdates: number
  readonly nothingLearnt?: Standstill | undefined
}

/** Whether no update has changed the policy though there were some. */
export function isUntrained({ step, emptyUpdates }: LearningCourse): boolean {
  return step > 0 && emptyUpdates === step
}

/** Whether a run that is done has failed at what it was for: it lost, had its time, and never learnt. */
export function hasFailedToLearn(course: LearningCourse): boolean {
  return isUntrained(course) && course.step >= fewUpdates && course.nothingLearnt?.cause !== 'all_won'
}

/** A standstill in one line, e.g. for a table of updates. */
export function standstillLine({ groups, updates }: Standstill): string {
  return `0 of ${groups} groups with different rewards for ${updates} ${updates === 1 ? 'update' : 'updates'}: nothing is learnt`
}

/** A standstill with its likely cause and what to do. */
export function standstillWords(standstill: Standstill): string {
  return `${standstillLine(standstill)}. ${causes[standstill.cause](standstill)}`
}

const causes: Record<StandstillCause, (standstill: Standstill) => string> = {
  all_won: () =>
    'Every episode was won, so there is nothing left to learn from these instances: end the run, or take harder ones.',
  cut_off_actions: ({ unusable, cutOff }) =>
    `Every episode was lost, and ${percent(unusable, 0)} of the actions could not be used: ${percent(cutOff, 0)} were cut off at \`rollout.maxTokensPerTurn\`. Raise it, or lengthen the warm start (\`warmStart.epochs\`, \`warmStart.demonstrations\`).`,
  unusable_actions: ({ unusable }) =>
    `Every episode was lost, and ${percent(unusable, 0)} of the actions could not be used: the policy has not learnt to call the tools. Lengthen the warm start (\`warmStart.epochs\`, \`warmStart.demonstrations\`), or start from a checkpoint that can (\`policy.from\`).`,
  all_lost: ({ unusable }) =>
    `Every episode was lost, though only ${percent(unusable, 0)} of the actions could not be used: the policy never wins. Take easier instances or more turns (\`tasks.N.turnLimit\`), larger groups (\`rollout.groupSize\`), or a longer warm start (\`warmStart.epochs\`, \`warmStart.demonstrations\`).`,
  equal_rewards: ({ won, lost, groups, unusable }) =>
    `${won} groups were won by all of their episodes, ${lost} lost by all, and ${groups - won - lost} paid alike; ${percent(unusable, 0)} of the actions could not be used. Larger groups (\`rollout.groupSize\`) or a higher \`rollout.temperature\` make episodes of an instance differ.`,
}
