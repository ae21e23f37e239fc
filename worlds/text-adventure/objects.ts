/**
 * The objects of a game, numbered in the order of their ids, and their types.
 *
 * Invariants
 * - The order of numbers is the order of ids.
 * - Objects of a kind are numbered from 1; in the order of their ids the numbers fall.
 * - An id without `_bar_` is its own name, followed by a blank, as the official engine prints it.
 */
import type { Domain } from './domain.ts'
import type { Typed } from './expression.ts'

export class Objects {
  readonly ids: readonly string[]
  readonly #numbers = new Map<string, number>()
  readonly #typeOf: readonly string[]
  readonly #types: Domain['types']
  readonly #members = new Map<string, Uint8Array>()

  constructor(domain: Domain, declared: readonly Typed[]) {
    const types = new Map([...domain.constants, ...declared].map(({ name, type }) => [name, type]))
    this.ids = [...types.keys()].sort()
    this.ids.forEach((id, number) => {
      this.#numbers.set(id, number)
    })
    this.#typeOf = this.ids.map((id) => types.get(id) ?? 'object')
    this.#types = domain.types
  }

  /** Number of an object, −1 where there is none of this id. */
  number(id: string): number {
    return this.#numbers.get(id) ?? -1
  }

  id(number: number): string {
    return this.ids[number] as string
  }

  typeOf(number: number): string {
    return this.#typeOf[number] as string
  }

  /** By object: 1 where it is of the type or of one below. */
  members(type: string): Uint8Array {
    let members = this.#members.get(type)
    if (members === undefined) {
      members = Uint8Array.from(this.#typeOf, (own) => (this.#belongs(own, type) ? 1 : 0))
      this.#members.set(type, members)
    }
    return members
  }

  #belongs(own: string, type: string): boolean {
    // Types may be declared below themselves; no hierarchy is deeper than it has types.
    let at: string | undefined = own
    for (let depth = 0; at !== undefined && depth <= this.#types.size; depth++) {
      if (at === type) return true
      at = this.#types.get(at) ?? (at === 'object' ? undefined : 'object')
    }
    return false
  }
}

/** Names of all given ids. @param ids in ascending order */
export function nameObjects(ids: readonly string[]): Map<string, string> {
  const left = new Map<string, number>()
  const kinds = ids.map(kindOfId)
  for (const kind of kinds) if (kind !== undefined) left.set(kind, (left.get(kind) ?? 0) + 1)
  const names = new Map<string, string>()
  ids.forEach((id, at) => {
    const kind = kinds[at]
    if (kind === undefined) {
      names.set(id, `${readable(id)} `)
      return
    }
    const number = left.get(kind) ?? 0
    left.set(kind, number - 1)
    names.set(id, `${kind} ${number}`)
  })
  return names
}

/** The kind in the name of an object, which it has in common with others. @example kindOfId('desk_bar__plus_01') // 'desk' */
export function kindOfId(id: string): string | undefined {
  const end = id.indexOf('_bar_')
  if (end < 0) return undefined
  return readable(id.slice(0, end) + (id.includes('basin') ? 'basin' : ''))
}

function readable(text: string): string {
  return text
    .replaceAll('_minus_', '-')
    .replaceAll('_plus_', '+')
    .replaceAll('_dot_', '.')
    .replaceAll('_comma_', ',')
}
