/**
 * The built-in problems as a library: splits, ids, items and gold actions.
 *
 * Invariants
 * - An id that a split gives can be opened; any other is an unknown instance.
 */
import { EnvironmentFault, type InstanceId } from '../../environment.ts'
import type { DbLibrary } from '../dataset.ts'
import type { TableData } from '../item.ts'
import type { Difficulty } from '../settings.ts'
import type { BuiltinSplit } from './generator.ts'
import { builtinSplits, generateProblem, largestSplit } from './generator.ts'
import type { Problem } from './problem.ts'

const sizes: Readonly<Record<BuiltinSplit, number>> = {
  train: Number.POSITIVE_INFINITY,
  validation: 2000,
  test: 2000,
}
// The episodes of a group open the same problem one after another.
const kept = 256

/** The built-in library, which also knows the gold statements. */
export interface BuiltinLibrary extends DbLibrary {
  /** @throws EnvironmentFault unknown_instance */
  problem(instance: InstanceId): Problem
}

/** The generated problems of that difficulty. */
export async function openBuiltin(difficulty: Difficulty): Promise<BuiltinLibrary> {
  const { Faker, en, base } = await import('@faker-js/faker')
  const faker = new Faker({ locale: [en, base] })
  const problems = new Map<InstanceId, Problem>()

  function problem(instance: InstanceId): Problem {
    const known = problems.get(instance)
    if (known !== undefined) return known
    const [split, index] = placeOf(instance)
    const made = generateProblem(faker, split, index, difficulty)
    problems.set(instance, made)
    const [oldest] = problems.keys()
    if (problems.size > kept && oldest !== undefined) problems.delete(oldest)
    return made
  }

  return {
    splits: builtinSplits.map((name) => ({ name, size: sizes[name] })),
    instanceAt(split, index) {
      if (!isSplit(split))
        throw new EnvironmentFault(
          'unknown_split',
          `db has no split "${split}": use ${builtinSplits.join(', ')}`,
        )
      const size = Math.min(sizes[split], largestSplit)
      return `${split}/${((index % size) + size) % size}`
    },
    problem,
    item(instance) {
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

function placeOf(instance: InstanceId): readonly [BuiltinSplit, number] {
  const [, split = '', digits = ''] = /^([a-z]+)\/(0|[1-9]\d{0,9})$/.exec(instance) ?? []
  const index = Number(digits)
  if (!isSplit(split) || digits === '' || index >= Math.min(sizes[split], largestSplit))
    throw new EnvironmentFault(
      'unknown_instance',
      `db has no problem "${instance.slice(0, 80)}": use train/N, or validation/N or test/N with N below ${sizes.test}`,
    )
  return [split, index]
}

function isSplit(name: string): name is BuiltinSplit {
  return (builtinSplits as readonly string[]).includes(name)
}
