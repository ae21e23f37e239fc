/**
 * Built-in problems: any number of them, each named by its split and index.
 *
 * Invariants
 * - A problem is a function of its id and the difficulty.
 * - Splits are disjoint: two ids never share a seed.
 * - Its statements give its answers, and no answer depends on the order of rows.
 * - A statement that is asked for changes the state.
 */

import type { Difficulty } from '../../contract/task-settings.ts'
import { Draw, instanceSeed } from '../../generated/draw.ts'
import { type GeneratedSplit, generatedSplits } from '../../generated/generated-instances.ts'
import { type Problem, problemKinds } from './problem.ts'
import { sceneOf } from './scene.ts'

/** The seed of a problem; no two problems have the same. */
export function problemSeed(split: GeneratedSplit, index: number): number {
  return instanceSeed(generatedSplits, split, index)
}

/** The problem of a split and index. */
export function generateProblem(split: GeneratedSplit, index: number, difficulty: Difficulty): Problem {
  const draw = new Draw(problemSeed(split, index))
  const scene = sceneOf(draw, difficulty)
  // Every kind can be asked of most tables; where one cannot, the next one is.
  for (const make of draw.shuffled(problemKinds[difficulty])) {
    const problem = make(scene, draw)
    if (problem !== undefined) return problem
  }
  throw new RangeError(`no question fits ${split}/${index}`)
}
