/**
 * The built-in problems as a library: splits, ids, items and what an expert does.
 *
 * Invariants
 * - An id that a split gives can be opened; any other is an unknown instance.
 * - A problem is a function of its id and the difficulty.
 * - Splits are disjoint: two ids never share a seed.
 * - Its statements give its answers, and no answer depends on the order of rows.
 * - A statement that is asked for changes the state.
 */
import type { InstanceId } from '../../contract/environment.ts'
import type { Library } from '../../contract/library.ts'
import type { Difficulty } from '../../contract/task-settings.ts'
import { Draw, instanceSeed } from '../../generated/draw.ts'
import {
  type GeneratedSplit,
  generatedLibrary,
  generatedSplits,
} from '../../generated/generated-instances.ts'
import type { DbItem } from '../item.ts'
import { makers, type Problem, problemKinds } from './problem.ts'
import { sceneOf } from './scene.ts'

// The episodes of a group open the same problem one after another.
const kept = 256

/** The built-in library, which also knows the expert's statements. */
export interface BuiltinLibrary extends Library<DbItem> {
  /** @throws EnvironmentFault unknown_instance */
  problem(instance: InstanceId): KnownProblem
}

interface KnownProblem extends Problem {
  readonly kind: string
}

/** The generated problems of that difficulty. */
export function openBuiltin(difficulty: Difficulty): BuiltinLibrary {
  const generated = generatedLibrary('db', 'problem', (split, index) =>
    generateProblem(split, index, difficulty),
  )
  const problems = new Map<InstanceId, KnownProblem>()

  function problem(instance: InstanceId): KnownProblem {
    const known = problems.get(instance)
    if (known !== undefined) return known
    const made = generated.open(instance)
    problems.set(instance, made)
    const [oldest] = problems.keys()
    if (problems.size > kept && oldest !== undefined) problems.delete(oldest)
    return made
  }

  return {
    ...generated,
    problem,
    open(instance) {
      const { scene, question, statements, answers, kind } = problem(instance)
      return {
        id: instance,
        question,
        kind,
        tables: scene.data,
        goal:
          answers === undefined
            ? // What was tried before it changed nothing.
              { kind: 'effect', statements: statements.slice(-1) }
            : { kind: 'answer', answers },
      }
    },
  }
}

/** The seed of a problem; no two problems have the same. */
export function problemSeed(split: GeneratedSplit, index: number): number {
  return instanceSeed(generatedSplits, split, index)
}

/** The problem of a split and index. */
function generateProblem(split: GeneratedSplit, index: number, difficulty: Difficulty): KnownProblem {
  const draw = new Draw(problemSeed(split, index))
  const scene = sceneOf(draw, difficulty)
  // Every kind can be asked of most tables; where one cannot, the next one is.
  for (const kind of draw.shuffled(problemKinds[difficulty])) {
    const problem = makers[kind](scene, draw)
    if (problem !== undefined) return { ...problem, kind }
  }
  throw new RangeError(`no question fits ${split}/${index}`)
}
