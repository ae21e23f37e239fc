/**
 * Clauses bound to the objects of one game, and the search for their instances.
 *
 * Invariants
 * - Every instance respects the types of the variables and all literals that cannot change.
 */
import type { Clause, Literal } from './clause.ts'
import type { FactTable } from './facts.ts'
import type { Objects } from './objects.ts'
import type { Plan, Step } from './plan.ts'

/** A literal whose terms are numbers: a variable n as n, an object o as −1 − o. */
export interface BoundLiteral {
  readonly predicate: string
  readonly terms: readonly number[]
  readonly positive: boolean
}

type BoundStep =
  | { readonly kind: 'join' | 'check'; readonly literal: BoundLiteral; readonly table: FactTable | undefined }
  | { readonly kind: 'choose'; readonly variable: number }

/** A clause ready to be instantiated. */
export interface BoundPlan {
  readonly trigger: BoundLiteral | undefined
  readonly steps: readonly BoundStep[]
  readonly fluents: readonly BoundLiteral[]
  /** By variable: which objects are of its type. */
  readonly members: readonly Uint8Array[]
}

/** Binds a literal; where it names an object that the game lacks, it never holds. */
export function bindLiteral(literal: Literal, objects: Objects): BoundLiteral | undefined {
  const terms: number[] = []
  for (const term of literal.terms) {
    const object = typeof term === 'string' ? objects.number(term) : undefined
    if (object === -1) return undefined
    terms.push(object === undefined ? (term as number) : -1 - object)
  }
  return { predicate: literal.predicate, terms, positive: literal.positive }
}

/** Binds literals that must all hold; undefined where they cannot. */
export function bindClause(clause: Clause, objects: Objects): BoundLiteral[] | undefined {
  const bound: BoundLiteral[] = []
  for (const literal of clause) {
    const own = bindLiteral(literal, objects)
    if (own !== undefined) bound.push(own)
    else if (literal.positive) return undefined
  }
  return bound
}

/** Binds a plan; undefined where it asks for an object that the game lacks. */
export function bindPlan(
  plan: Plan,
  types: readonly string[],
  objects: Objects,
  tableOf: (predicate: string, arity: number) => FactTable,
): BoundPlan | undefined {
  const steps: BoundStep[] = []
  for (const step of plan.steps) {
    const bound = bindStep(step, objects, tableOf)
    if (bound === 'never') return undefined
    if (bound !== 'always') steps.push(bound)
  }
  const fluents = bindClause(plan.fluents, objects)
  if (fluents === undefined) return undefined
  return {
    trigger: plan.trigger && bindLiteral(plan.trigger, objects),
    steps,
    fluents,
    members: types.map((type) => objects.members(type)),
  }
}

function bindStep(
  step: Step,
  objects: Objects,
  tableOf: (predicate: string, arity: number) => FactTable,
): BoundStep | 'never' | 'always' {
  if (step.kind === 'choose') return step
  const literal = bindLiteral(step.literal, objects)
  if (literal === undefined) return step.literal.positive ? 'never' : 'always'
  const table = literal.predicate === '=' ? undefined : tableOf(literal.predicate, literal.terms.length)
  return { kind: step.kind, literal, table }
}

/** The object of a term: a constant, or the value of a variable; −1 for a variable without a value. */
function objectOf(term: number, values: ArrayLike<number>): number {
  return term < 0 ? -1 - term : (values[term] as number)
}

/** Packs the objects of a literal whose variables all have values. */
export function keyOf(literal: BoundLiteral, values: ArrayLike<number>, radix: number): number {
  let key = 0
  for (const term of literal.terms) key = key * radix + objectOf(term, values)
  return key
}

/** Gives the variables of a literal the objects of a packed fact; false (and `values` unsure) where they disagree. */
function unify(
  literal: BoundLiteral,
  key: number,
  table: FactTable,
  members: readonly Uint8Array[],
  values: Int32Array,
) {
  for (let position = 0; position < literal.terms.length; position++) {
    const term = literal.terms[position] as number
    const object = table.objectAt(key, position)
    const known = objectOf(term, values)
    if (known === -1) {
      if (members[term]?.[object] !== 1) return false
      values[term] = object
    } else if (known !== object) return false
  }
  return true
}

/** Calls `found` with the values of every instance. @param trigger a fact that the trigger must be */
export function instantiate(
  plan: BoundPlan,
  trigger: { readonly key: number; readonly table: FactTable } | undefined,
  found: (values: Int32Array) => void,
): void {
  const values = new Int32Array(plan.members.length).fill(-1)
  if (trigger !== undefined) {
    if (plan.trigger === undefined || !unify(plan.trigger, trigger.key, trigger.table, plan.members, values))
      return
  }
  search(plan, 0, values, found)
}

function search(plan: BoundPlan, at: number, values: Int32Array, found: (values: Int32Array) => void): void {
  const step = plan.steps[at]
  if (step === undefined) {
    found(values)
  } else if (step.kind === 'choose') {
    const members = plan.members[step.variable] as Uint8Array
    for (let object = 0; object < members.length; object++) {
      if (members[object] !== 1) continue
      values[step.variable] = object
      search(plan, at + 1, values, found)
    }
    values[step.variable] = -1
  } else if (step.kind === 'check') {
    if (holds(step.literal, step.table, values) === step.literal.positive) search(plan, at + 1, values, found)
  } else if (step.table !== undefined) {
    const { literal, table } = step
    const position = literal.terms.findIndex((term) => objectOf(term, values) !== -1)
    const rows =
      position < 0 ? table.all() : table.with(position, objectOf(literal.terms[position] as number, values))
    const before = values.slice()
    for (const key of rows) {
      if (unify(literal, key, table, plan.members, values)) search(plan, at + 1, values, found)
      values.set(before)
    }
  }
}

function holds(literal: BoundLiteral, table: FactTable | undefined, values: Int32Array): boolean {
  if (table !== undefined) return table.has(keyOf(literal, values, table.radix))
  const [left = 0, right = 0] = literal.terms
  return objectOf(left, values) === objectOf(right, values)
}
