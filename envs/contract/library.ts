/**
 * The library of a task: its instances by split and id, those of a data folder or generated; and what keeps a folder
 * from use.
 *
 * Invariants
 * - The n-th id of a split is that of n modulo its size, also below 0.
 * - An id that a split gives can be opened, also with its split before it.
 * - A split or an instance that is not there is a fault that names what is.
 * - A folder gives a bounded number of warnings, and the last one counts those left out.
 * - A file of which no entry can be used is another kind of file, and gives one.
 */
import { EnvironmentFault, type InstanceId, type Split } from './environment.ts'

/** Instances, each with what a session is made of. */
export interface Library<Content> {
  readonly splits: readonly Split[]
  /** Parts of a folder that were left out, each with its file. */
  readonly warnings: readonly string[]
  /** The index-th id of a split, modulo its size. @throws EnvironmentFault unknown_split */
  instanceAt(split: string, index: number): InstanceId
  /** @throws EnvironmentFault unknown_instance, or bad_data naming the file */
  open(instance: InstanceId): Content
}

/**
 * The instances of a data folder.
 * @param data what has them, such as `os data: /data/os`
 * @param what the task's word for an instance, such as `game`
 * @param contents by split and id, in their order
 */
export function listedLibrary<Content>(
  data: string,
  what: string,
  contents: ReadonlyMap<string, ReadonlyMap<InstanceId, Content>>,
  warnings: readonly string[],
): Library<Content> {
  const ids = new Map([...contents].map(([split, listed]) => [split, [...listed.keys()]]))
  const byId = new Map([...contents.values()].flatMap((listed) => [...listed]))
  return {
    splits: [...ids].map(([name, { length }]) => ({ name, size: length })),
    warnings,
    instanceAt(split, index) {
      const listed = ids.get(split)
      const id = listed?.[((index % listed.length) + listed.length) % listed.length]
      if (id !== undefined) return id
      const names = [...ids.keys()].join(', ')
      throw new EnvironmentFault(
        'unknown_split',
        `${data} has no split "${split.slice(0, 80)}": use ${names}`,
      )
    },
    open(instance) {
      const split = [...ids.keys()].find((name) => instance.startsWith(`${name}/`)) ?? ''
      const content = byId.get(instance) ?? contents.get(split)?.get(instance.slice(split.length + 1))
      if (content !== undefined) return content
      const [example] = byId.keys()
      throw new EnvironmentFault(
        'unknown_instance',
        `${data} has no ${what} "${instance.slice(0, 200)}": ids look like ${example}`,
      )
    },
  }
}

/** Splits in their usual order; others follow by name. */
export function inUsualOrder<Value>(
  splits: ReadonlyMap<string, Value>,
  usual: readonly string[],
): ReadonlyMap<string, Value> {
  const rank = new Map(usual.map((name, index) => [name, index]))
  const rankOf = (name: string) => rank.get(name) ?? usual.length
  const byName = [...splits].sort(([one], [other]) => (one < other ? -1 : 1))
  return new Map(byName.sort(([one], [other]) => rankOf(one) - rankOf(other)))
}

/** For the `catch` of what reads the folder. @throws EnvironmentFault `bad_data` */
export function unreadableFolder(task: string, dir: string): (cause: unknown) => never {
  return (cause) => {
    const reason = `${task} data: folder ${dir} cannot be read: give an existing folder`
    throw new EnvironmentFault('bad_data', reason, { cause })
  }
}

/** The fault of a folder in which nothing can be used. @param warnings of what was left out */
export function emptyFolder(
  task: string,
  dir: string,
  { what, expected, warnings }: EmptyFolder,
): EnvironmentFault {
  const reasons = warnings.length === 0 ? '' : `: ${warnings.slice(0, 3).join('; ')}`
  return new EnvironmentFault(
    'bad_data',
    `${task} data: ${dir} holds no ${what}; expected ${expected}${reasons}`,
  )
}

interface EmptyFolder {
  /** The task's word for instances, such as `games`. */
  readonly what: string
  /** The files that such a folder has. */
  readonly expected: string
  readonly warnings: readonly string[]
}

const mostWarnings = 20
const longestWarning = 500

/** Warnings about a data folder. */
export class Warnings {
  readonly #task: string
  readonly #texts: string[] = []
  #more = 0

  /** @param task its name, which every warning begins with */
  constructor(task: string) {
    this.#task = task
  }

  add(text: string): void {
    if (this.#texts.length < mostWarnings)
      this.#texts.push(`${this.#task} data: ${text.slice(0, longestWarning)}`)
    else this.#more++
  }

  /**
   * Adds those of a file.
   * @param texts one for each entry that is left out, in their order
   * @param used number of the other entries
   */
  addOf(file: string, texts: readonly string[], used: number): void {
    const [first] = texts
    if (used === 0 && texts.length > 1)
      this.add(`${file} is left out: none of its ${texts.length} entries can be used; the first: ${first}`)
    else for (const text of texts) this.add(text)
  }

  all(): readonly string[] {
    return this.#more === 0 ? this.#texts : [...this.#texts, `${this.#task} data: and ${this.#more} more`]
  }
}
