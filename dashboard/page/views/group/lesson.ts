/** The words of a group's page for the update that has consumed it. */
import type { GroupAnswer } from '../../../contract/group.ts'

const words: Readonly<Record<NonNullable<GroupAnswer['learnt']>, { fact: string; sentence: string }>> = {
  learnt: { fact: 'Learnt by', sentence: ' The update learnt from them.' },
  nothing_learnt: { fact: 'Played for', sentence: ' The update learnt nothing from them.' },
  not_kept: { fact: 'Played for', sentence: ' The update’s learning signal for them is not kept.' },
}

/** The name that the update has among the facts of the group. */
export function updateFact(learnt: GroupAnswer['learnt']): string {
  return words[learnt ?? 'not_kept'].fact
}

/** A sentence about the samples; empty where no update has consumed them. */
export function lessonSentence(learnt: GroupAnswer['learnt']): string {
  return learnt === undefined ? '' : words[learnt].sentence
}
