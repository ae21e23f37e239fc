/**
 * Instances of a run: which position each group plays, and which instances are left out because their groups ended without a result
 * by the environment's own doing.
 *
 * Invariants
 * - [UNPLAYABLE-1] A group of a left-out instance is not started again; the first result ends the count of failures in a row.
 * - A person who continues or resumes the run has repaired the cause: every instance is played again.
 */

import type { EpisodeLoss } from '../../../contract/episode-loss.ts'
import type { GroupInFlight } from '../../../contract/training-state.ts'
import { carriedLeftOut } from '../../../learning/run/state-bounds.ts'
import type { Changing } from './changing.ts'

/** Notes the sizes of the splits that the tasks train on. @param sizes by task; null without an end */
export function followInstances(state: Changing, sizes: readonly (number | null)[]): void {
  state.sizes = sizes
}

/** The position that a task plays next. @param admitted groups of the task so far */
export function admitPosition(state: Changing, taskIndex: number, admitted: number): number {
  const from = admitted + passedOver(state, taskIndex)
  let position = from
  while (position - from < carriedLeftOut && isLeftOut(state, taskIndex, position)) position += 1
  passOver(state, taskIndex, position - from)
  return position
}

/** Leaves the instance of a group out. */
export function leaveOut(
  state: Changing,
  { taskIndex, position }: GroupInFlight,
  { reason }: EpisodeLoss,
): void {
  const { count, inARow, places, passed } = leftOutOf(state)
  const failure = { inARow: inARow + 1, reason, passed }
  // Groups of one instance may have been on their way together.
  if (isLeftOut(state, taskIndex, position)) state.leftOut = { ...failure, count, places }
  else {
    const place = { taskIndex, place: placeOf(state, taskIndex, position) }
    state.leftOut = { ...failure, count: count + 1, places: [...places, place].slice(-carriedLeftOut) }
  }
}

/** A group of the run has a result. */
export function endFailuresInARow(state: Changing): void {
  if (state.leftOut !== undefined && state.leftOut.inARow > 0) state.leftOut = { ...state.leftOut, inARow: 0 }
}

function isLeftOut(state: Changing, taskIndex: number, position: number): boolean {
  const place = placeOf(state, taskIndex, position)
  return state.leftOut?.places.some((each) => each.taskIndex === taskIndex && each.place === place) === true
}

/** Positions of a task that were passed over because their instances are left out. */
function passedOver(state: Changing, taskIndex: number): number {
  return state.leftOut?.passed[taskIndex] ?? 0
}

function passOver(state: Changing, taskIndex: number, positions: number): void {
  if (positions === 0) return
  const leftOut = leftOutOf(state)
  const passed = state.config.tasks.map((_, index) => passedOver(state, index))
  state.leftOut = { ...leftOut, passed: passed.with(taskIndex, passedOver(state, taskIndex) + positions) }
}

/** Plays all instances again; positions that were passed over stay passed, so that no group is played twice. */
export function readmitInstances(state: Changing): void {
  if (state.leftOut === undefined) return
  const { passed } = state.leftOut
  if (passed.some((positions) => positions > 0)) state.leftOut = { ...none, passed }
  else delete state.leftOut
}

const none: NonNullable<Changing['leftOut']> = { count: 0, inARow: 0, reason: '', places: [], passed: [] }

function leftOutOf(state: Changing): NonNullable<Changing['leftOut']> {
  return state.leftOut ?? none
}

/** A key that all positions of an instance share. */
function placeOf({ sizes }: Changing, taskIndex: number, position: number): number {
  const size = sizes?.[taskIndex]
  return size == null ? position : position % size
}
