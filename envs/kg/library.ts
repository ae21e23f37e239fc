/**
 * Questions by split and id, of a data folder or generated.
 *
 * Invariants
 * - An id that a split gives can be opened; any other is an unknown instance.
 */
import type { InstanceId } from '../contract/environment.ts'
import { type Library, listedLibrary } from '../contract/library.ts'
import type { KgCall } from './tools.ts'

/** The questions of a data folder; those of a later split with a known id are named `<split>/<id>`. */
export function openLibrary(splits: ReadonlyMap<string, readonly Question[]>): Library<Question> {
  const taken = new Set<InstanceId>()
  const named = [...splits].map(([split, questions]) => {
    const byId = questions.map((question) => {
      const id = taken.has(question.id) ? `${split}/${question.id}` : question.id
      taken.add(id)
      return [id, question] as const
    })
    return [split, new Map(byId)] as const
  })
  return listedLibrary('kg', 'question', new Map(named), [])
}

export interface Question {
  /** The instance's id. */
  readonly id: string
  readonly text: string
  /** Ids by the names that the agent reads. */
  readonly entities: ReadonlyMap<string, string>
  readonly answers: ReadonlySet<string>
  readonly kind?: string
  /** Calls whose last variable is the answer, where they are known. */
  readonly gold?: readonly KgCall[] | undefined
}
