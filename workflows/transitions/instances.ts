/**
 * Instances of a run: which position each group plays, and what came of those that were played, where won ones are played less often.
 *
 * Invariants
 * - What an update has consumed counts, and nothing before: so which instances are passed over does not depend on the order in
 *   which groups end.
 */

import { seedOf, uniforms } from '../../identity/identity.ts'
import { carriedLeftOut } from '../../learning/state-bounds.ts'
import { mostFollowed, nextPosition, noneWon, withOutcome } from '../../learning/won-instances.ts'
import type { EpisodeResult } from '../messages.ts'
import type { GroupInFlight } from '../training-state.ts'
import type { Changing } from './changing.ts'
import { isLeftOut, passedOver, passOver } from './left-out.ts'

/** Follows the instances of splits that have an end, if won ones are to be played less often. @param sizes by task; null without an end */
export function followInstances(state: Changing, sizes: readonly (number | null)[]): void {
  state.sizes = sizes
  const { wonAgain = 1 } = state.config.rollout // a run of an earlier release has no such setting
  if (wonAgain === 1) return
  state.courses = sizes.map((size, task) => {
    if (size === null || size > mostFollowed(sizes.length)) return null
    const known = state.courses[task]
    return known?.size === size ? known : { size, passed: 0, won: noneWon(size) }
  })
}

/** The position that a task plays next. @param admitted groups of the task so far */
export function enterPosition(state: Changing, taskIndex: number, admitted: number): number {
  const course = state.courses[taskIndex]
  const { seed, rollout } = state.config
  const draw = (position: number) => uniforms(seedOf(seed, taskIndex, position, 'again'))()
  const next = (at: number) => (course == null ? at : nextPosition(at, course, rollout.wonAgain, draw))
  const from = admitted + (course?.passed ?? passedOver(state, taskIndex))
  let position = next(from)
  for (let n = 0; n < carriedLeftOut && isLeftOut(state, taskIndex, position); n++)
    position = next(position + 1)
  if (course == null) {
    passOver(state, taskIndex, position - from)
    return position
  }
  state.courses = state.courses.with(taskIndex, { ...course, passed: course.passed + position - from })
  return position
}

/** Takes in what came of a group's instance. */
export function judgeInstance(
  state: Changing,
  { number, taskIndex, position }: GroupInFlight,
  episodes: readonly EpisodeResult[],
): void {
  if (state.courses[taskIndex] == null) return
  const won = episodes.every(({ success }) => success)
  state.judged = [...waiting(state), { number, taskIndex, position, won }]
}

/** Remembers what came of the groups that an update has consumed, and forgets those that nothing waits for. */
export function rememberInstances(state: Changing, consumed: ReadonlySet<number>): void {
  const courses = [...state.courses]
  for (const { number, taskIndex, position, won } of state.judged) {
    const course = courses[taskIndex]
    if (course == null || !consumed.has(number)) continue
    courses[taskIndex] = { ...course, won: withOutcome(course.won, position % course.size, won) }
  }
  state.courses = courses
  state.judged = waiting(state)
}

/** Of groups that an update may still consume. */
function waiting({ judged, ready, training, skipped }: Changing): Changing['judged'] {
  const numbers = new Set([
    ...[...ready, ...training].map(({ number }) => number),
    ...skipped.flatMap((each) => each.numbers),
  ])
  return judged.filter(({ number }) => numbers.has(number))
}
