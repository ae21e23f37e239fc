/**
 * Conditions of PDDL as clauses: a condition holds when all literals of one of its clauses do,
 * for some choice of the variables.
 *
 * Invariants
 * - Each clause is a conjunction of literals; disjunctions are multiplied out, as the planner does it.
 * - Variables of different quantifiers have different numbers.
 */

import { type Expression, listOf, type Typed, typedNames, wordOf } from './expression.ts'
import { TextAdventureFault } from './fault.ts'

/** A variable by its number, or an object by its name. */
export type Term = number | string

/** A predicate over terms, or its negation; `=` compares two terms. */
export interface Literal {
  readonly predicate: string
  readonly terms: readonly Term[]
  readonly positive: boolean
}

/** Literals that must all hold. */
export type Clause = readonly Literal[]

/** Variables by number; grows as quantifiers are met. */
export class Variables {
  readonly types: string[] = []
  readonly #numbers: ReadonlyMap<string, number>

  constructor(numbers: ReadonlyMap<string, number> = new Map(), types: string[] = []) {
    this.#numbers = numbers
    this.types = types
  }

  /** These variables and new ones for a quantifier, numbers shared with the outer scope. */
  within(quantified: readonly Typed[]): Variables {
    const numbers = new Map(this.#numbers)
    for (const { name, type } of quantified) numbers.set(name, this.types.push(type) - 1)
    return new Variables(numbers, this.types)
  }

  term(name: string, what: string): Term {
    if (!name.startsWith('?')) return name
    const number = this.#numbers.get(name)
    if (number === undefined) throw new TextAdventureFault('bad_data', `${what}: ${name} is not declared`)
    return number
  }
}

/** Reads one predicate over terms. */
export function literalOf(
  expression: Expression,
  positive: boolean,
  variables: Variables,
  what: string,
): Literal {
  const [predicate, ...terms] = listOf(expression, what).map((word) => wordOf(word, what))
  if (predicate === undefined) throw new TextAdventureFault('bad_data', `${what}: a condition is empty`)
  if (predicate === 'not')
    throw new TextAdventureFault('bad_data', `${what}: "not" must be before a predicate in brackets`)
  return { predicate, terms: terms.map((term) => variables.term(term, what)), positive }
}

/** The clauses of a condition, `()` being true. @throws TextAdventureFault bad_data for a universal condition */
export function clausesOf(condition: Expression, variables: Variables, what: string): Clause[] {
  return listOf(condition, what).length === 0 ? [[]] : expand(condition, true, variables, what)
}

function expand(condition: Expression, positive: boolean, variables: Variables, what: string): Clause[] {
  const [tag, ...parts] = listOf(condition, what)
  switch (tag) {
    case 'not':
      return expand(parts[0] ?? [], !positive, variables, what)
    case 'and':
    case 'or': {
      const expanded = parts.map((part) => expand(part, positive, variables, what))
      return (tag === 'and') === positive ? conjoin(expanded) : expanded.flat()
    }
    case 'imply': {
      const [premise = [], conclusion = []] = parts
      const expanded = [
        expand(premise, !positive, variables, what),
        expand(conclusion, positive, variables, what),
      ]
      return positive ? expanded.flat() : conjoin(expanded)
    }
    case 'exists':
    case 'forall': {
      if ((tag === 'exists') !== positive)
        throw new TextAdventureFault('bad_data', `${what}: universal conditions are not supported`)
      const inner = variables.within(typedNames(listOf(parts[0], what), what))
      return expand(parts[1] ?? [], positive, inner, what)
    }
    default:
      return [[literalOf(condition, positive, variables, what)]]
  }
}

function conjoin(parts: readonly Clause[][]): Clause[] {
  let product: Clause[] = [[]]
  for (const clauses of parts)
    product = product.flatMap((left) => clauses.map((right) => [...left, ...right]))
  return product
}
