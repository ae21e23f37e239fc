/** Why an episode has no advantage to show, in a sentence. */
import type { TrajectoryAnswer } from '../../../contract/trajectory.ts'

export function withoutLesson({ notKept }: Pick<TrajectoryAnswer, 'notKept'>): string {
  return notKept === undefined
    ? 'No update has learnt from this episode.'
    : `Not kept: update ${notKept} left no record of what it learnt.`
}
