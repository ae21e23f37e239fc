/** When the branches of an episode are looked at again. */
import type { BranchesAnswer } from '../../../contract/trajectory.ts'

/** While a branch is played. */
const playingMs = 2000

/**
 * The end of a branch's process is no news of the home, because its last episode has ended before: so the page asks for it.
 * @returns milliseconds until the next look; undefined where no branch is being played
 */
export function pauseBeforeLook(answer: BranchesAnswer | undefined): number | undefined {
  return answer?.asked.some(({ state }) => state === 'playing') === true ? playingMs : undefined
}
