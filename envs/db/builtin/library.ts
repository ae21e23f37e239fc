/**
 * The built-in problems as a library: splits, ids, items and gold actions.
 *
 * Invariants
 * - An id that a split gives can be opened; any other is an unknown instance.
 */
import type { InstanceId } from '../../environment.ts'
import { generatedLibrary } from '../../generated-instances.ts'
import type { Library } from '../../library.ts'
import type { Difficulty } from '../../task-settings.ts'
import type { DbItem, TableData } from '../item.ts'
import { generateProblem } from './generator.ts'
import type { Problem } from './problem.ts'

// The episodes of a group open the same problem one after another.
const kept = 256

/** The built-in library, which also knows the gold statements. */
export interface BuiltinLibrary extends Library<DbItem> {
  /** @throws EnvironmentFault unknown_instance */
  problem(instance: InstanceId): Problem
}

/** The generated problems of that difficulty. */
export async function openBuiltin(difficulty: Difficulty): Promise<BuiltinLibrary> {
  const { Faker, en, base } = await import('@faker-js/faker')
  const faker = new Faker({ locale: [en, base] })
  const generated = generatedLibrary('db', 'problem', (split, index) =>
    generateProblem(faker, split, index, difficulty),
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
      const { scene, question, statement, answers } = problem(instance)
      const tables = [scene.main, ...(scene.second === undefined ? [] : [scene.second])]
      return {
        id: instance,
        question: `${tables.map(headOf).join('\n')}\n${question}`,
        tables,
        goal:
          answers === undefined ? { kind: 'effect', statements: [statement] } : { kind: 'answer', answers },
      }
    },
  }
}

function headOf({ name, columns }: TableData): string {
  return `${name}(${columns.join(', ')})`
}
