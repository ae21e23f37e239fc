/**
 * Questions by split and id, of a data folder or generated.
 *
 * Invariants
 * - An id that a split gives can be opened; any other is an unknown instance.
 */
import type { InstanceId, Split } from '../environment.ts'
import { listedInstances } from '../listed-instances.ts'
import type { KgCall } from './tools.ts'

export interface QuestionLibrary {
  readonly splits: readonly Split[]
  /** The index-th id of a split, modulo its size. @throws EnvironmentFault unknown_split */
  instanceAt(split: string, index: number): InstanceId
  /** @throws EnvironmentFault unknown_instance */
  question(instance: InstanceId): Question
}

/** The questions of a data folder; those of a later split with a known id are named `<split>/<id>`. */
export function openLibrary(splits: ReadonlyMap<string, readonly Question[]>): QuestionLibrary {
  const byId = new Map<InstanceId, Question>()
  const ids = new Map<string, InstanceId[]>()
  for (const [split, questions] of splits)
    ids.set(
      split,
      questions.map((question) => {
        const named = byId.has(question.id) ? `${split}/${question.id}` : question.id
        byId.set(named, question)
        // With its split it is always known, as the replay of one split names it.
        byId.set(`${split}/${question.id}`, question)
        return named
      }),
    )
  const { splits: listed, instanceAt, unknown } = listedInstances('kg', 'question', ids)
  return {
    splits: listed,
    instanceAt,
    question(instance) {
      const question = byId.get(instance)
      if (question === undefined) throw unknown(instance)
      return question
    },
  }
}

export interface Question {
  /** The instance's id. */
  readonly id: string
  readonly text: string
  /** Ids by the names that the agent reads. */
  readonly entities: ReadonlyMap<string, string>
  readonly answers: ReadonlySet<string>
  /** Calls whose last variable is the answer, where they are known. */
  readonly gold?: readonly KgCall[] | undefined
}
