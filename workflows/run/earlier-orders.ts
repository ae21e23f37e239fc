/**
 * Orders in the form in which an earlier release gave them: histories hold them, and a worker that replays one must
 * read them. Their changes go through `changeSettings`.
 *
 * Invariants
 * - This release sends none of them.
 */
import { defineUpdate, setHandler } from '@temporalio/workflow'
import type { LearningChange, Order, SettingsChange } from '../../contract/messages.ts'

/** New weights of the task mix, one per configured task. */
export const setTaskMix = defineUpdate<void, [readonly number[], Order]>('setTaskMix')
/** New learning settings, by their names within the section. */
export const setLearning = defineUpdate<void, [LearningChange, Order]>('setLearning')

/** Reads earlier orders as changes of settings. @param refuse throws where the change cannot be made */
export function hearEarlierOrders(
  change: (settings: SettingsChange, order: Order | undefined) => Promise<void>,
  refuse: (settings: SettingsChange) => void,
): void {
  setHandler(setTaskMix, (weights, order) => change(mixOf(weights), order), {
    validator: (weights, _order) => refuse(mixOf(weights)),
  })
  setHandler(setLearning, (settings, order) => change(learningOf(settings), order), {
    validator: (settings, _order) => refuse(learningOf(settings)),
  })
}

function mixOf(weights: readonly number[]): SettingsChange {
  return Object.fromEntries(
    (Array.isArray(weights) ? weights : []).map((weight, task) => [`tasks.${task}.weight`, weight]),
  )
}

function learningOf(settings: LearningChange): SettingsChange {
  return Object.fromEntries(Object.entries(settings ?? {}).map(([key, value]) => [`learning.${key}`, value]))
}
