/**
 * The facts of one predicate, for look-ups from any side.
 *
 * Invariants
 * - Facts come out in the order of their objects, first argument first.
 */

/** Facts over objects numbered 0 … `radix` − 1, each packed into one key. */
export class FactTable {
  readonly radix: number
  readonly arity: number
  readonly #keys = new Set<number>()
  #sorted: number[] | undefined
  /** By position: facts by the object there; made when first asked for. */
  readonly #columns: (number[][] | undefined)[]

  constructor(radix: number, arity: number) {
    this.radix = radix
    this.arity = arity
    this.#columns = Array.from({ length: arity }, () => undefined)
  }

  /** Packs objects so that the order of keys is the order of the objects. */
  key(objects: readonly number[]): number {
    let key = 0
    for (const object of objects) key = key * this.radix + object
    return key
  }

  /** The object at a position of a packed fact. */
  objectAt(key: number, position: number): number {
    let rest = key
    for (let at = this.arity - 1; at > position; at--) rest = Math.floor(rest / this.radix)
    return rest % this.radix
  }

  has(key: number): boolean {
    return this.#keys.has(key)
  }

  add(key: number): void {
    if (this.#keys.has(key)) return
    this.#keys.add(key)
    this.#sorted = undefined
    for (let position = 0; position < this.arity; position++) {
      const column = this.#columns[position]
      if (column === undefined) continue
      const facts = column[this.objectAt(key, position)] as number[]
      let at = facts.length
      while (at > 0 && (facts[at - 1] as number) > key) at--
      facts.splice(at, 0, key)
    }
  }

  delete(key: number): void {
    if (!this.#keys.delete(key)) return
    this.#sorted = undefined
    for (let position = 0; position < this.arity; position++) {
      const facts = this.#columns[position]?.[this.objectAt(key, position)]
      facts?.splice(facts.indexOf(key), 1)
    }
  }

  /** All facts, in order. */
  all(): readonly number[] {
    this.#sorted ??= [...this.#keys].sort((left, right) => left - right)
    return this.#sorted
  }

  /** The facts with an object at a position, in order. */
  with(position: number, object: number): readonly number[] {
    let column = this.#columns[position]
    if (column === undefined) {
      column = Array.from({ length: this.radix }, () => [])
      for (const key of this.all()) column[this.objectAt(key, position)]?.push(key)
      this.#columns[position] = column
    }
    return column[object] as number[]
  }
}
