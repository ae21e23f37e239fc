/** Why an episode has no advantage to show, in a sentence. */
import type { TrajectoryAnswer } from '../../../contract/trajectory.ts'

export function withoutLesson({ notKept }: Pick<TrajectoryAnswer, 'notKept'>): string {
  return notKept === undefined
    ? 'No update has learnt from this episode.'
    : `Not kept: the batch file of update ${notKept} is gone, or too large to be shown.`
}
