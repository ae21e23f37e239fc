/**
 * The advantage that a token was learnt with.
 *
 * Invariants
 * - [SHOWN-ADVANTAGE-1] Where turns have advantages of their own, each turn's tokens have their turn's, and no token has the mean.
 */
import type { TrajectoryLearnt } from './trajectory.ts'

/** The advantage of the tokens sampled in a turn. */
export function advantageAt({ advantage, turns }: TrajectoryLearnt, turn: number): number {
  return turns === undefined ? advantage : (turns[turn] ?? Number.NaN)
}

/** The least and the largest of an episode; equal where all its tokens have one. */
export function advantageSpan({
  advantage,
  turns = [advantage],
}: TrajectoryLearnt): readonly [number, number] {
  return [Math.min(...turns), Math.max(...turns)]
}
