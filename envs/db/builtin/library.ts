/**
 * The built-in problems as a library: splits, ids, items and what an expert does.
 *
 * Invariants
 * - An id that a split gives can be opened; any other is an unknown instance.
 */
import type { InstanceId } from '../../contract/environment.ts'
import type { Library } from '../../contract/library.ts'
import type { Difficulty } from '../../contract/task-settings.ts'
import { generatedLibrary } from '../../generated/generated-instances.ts'
import type { DbItem } from '../item.ts'
import { generateProblem } from './generator.ts'
import type { Problem } from './problem.ts'

// The episodes of a group open the same problem one after another.
const kept = 256

/** The built-in library, which also knows the expert's statements. */
export interface BuiltinLibrary extends Library<DbItem> {
  /** @throws EnvironmentFault unknown_instance */
  problem(instance: InstanceId): Problem
}

/** The generated problems of that difficulty. */
export function openBuiltin(difficulty: Difficulty): BuiltinLibrary {
  const generated = generatedLibrary('db', 'problem', (split, index) =>
    generateProblem(split, index, difficulty),
  )
  const problems = new Map<InstanceId, Problem>()

  function problem(instance: InstanceId): Problem {
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
      const { scene, question, statements, answers } = problem(instance)
      return {
        id: instance,
        question,
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
