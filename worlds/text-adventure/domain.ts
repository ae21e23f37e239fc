/**
 * A PDDL domain, read once: types, and what each action needs and does.
 *
 * Invariants
 * - A predicate is fluent exactly when some action's effect names it; all others stay as the problem says.
 * - Costs are left out: no text depends on them.
 */

import { type Clause, clausesOf, type Literal, literalOf, Variables } from './clause.ts'
import { type Expression, listOf, parseExpression, type Typed, typedNames, wordOf } from './expression.ts'
import { TextAdventureFault } from './fault.ts'

/** A change that an action makes where `conditions` hold. */
interface Effect {
  readonly literal: Literal
  readonly conditions: Clause
}

/** An action with its parameters open. */
export interface Schema {
  readonly name: string
  /** Names without `?`; variable numbers are positions here, later ones belong to quantifiers. */
  readonly parameters: readonly Typed[]
  /** Type of each variable, by number. */
  readonly types: readonly string[]
  readonly clauses: readonly Clause[]
  readonly effects: readonly Effect[]
}

export interface Domain {
  /** Types with the type they belong to; `object` is the root and has none. */
  readonly types: ReadonlyMap<string, string | undefined>
  readonly constants: readonly Typed[]
  readonly fluents: ReadonlySet<string>
  readonly schemas: readonly Schema[]
}

/** Reads a domain. @throws TextAdventureFault bad_data, naming the part it cannot read */
export function parseDomain(text: string): Domain {
  const [define, , ...sections] = parseExpression(text, 'PDDL domain')
  if (define !== 'define')
    throw new TextAdventureFault('bad_data', 'PDDL domain: expected (define (domain …) …)')
  const types = new Map<string, string | undefined>([['object', undefined]])
  const constants: Typed[] = []
  const schemas: Schema[] = []
  for (const section of sections) {
    const [tag, ...rest] = listOf(section, 'PDDL domain')
    if (tag === ':types') {
      for (const { name, type } of typedNames(rest, 'PDDL types')) if (!types.has(name)) types.set(name, type)
    } else if (tag === ':constants') constants.push(...typedNames(rest, 'PDDL constants'))
    else if (tag === ':action') schemas.push(parseAction(rest))
    else if (tag === ':derived')
      throw new TextAdventureFault('bad_data', 'PDDL domain: derived predicates are not supported')
  }
  const fluents = new Set(schemas.flatMap(({ effects }) => effects.map(({ literal }) => literal.predicate)))
  return { types, constants, fluents, schemas: schemas.filter(({ effects }) => effects.length > 0) }
}

function parseAction(section: readonly Expression[]): Schema {
  const name = wordOf(section[0], 'PDDL action')
  const what = `PDDL action ${name}`
  const fields = new Map<string, Expression>()
  for (let at = 1; at + 1 < section.length; at += 2)
    fields.set(wordOf(section[at], what), section[at + 1] ?? [])
  const parameters = typedNames(listOf(fields.get(':parameters') ?? [], what), what)
  const variables = new Variables().within(parameters)
  const clauses = clausesOf(fields.get(':precondition') ?? [], variables, `${what}, precondition`)
  const effects: Effect[] = []
  collectEffects(fields.get(':effect') ?? [], [], variables, `${what}, effect`, effects)
  return {
    name,
    parameters: parameters.map(({ name: parameter, type }) => ({ name: parameter.replace(/^\?/, ''), type })),
    types: variables.types,
    clauses,
    effects,
  }
}

function collectEffects(
  expression: Expression,
  conditions: Clause,
  variables: Variables,
  what: string,
  effects: Effect[],
): void {
  const [tag, first = [], second = []] = listOf(expression, what)
  if (tag === undefined || tag === 'increase') return
  if (tag === 'and') {
    for (const part of listOf(expression, what).slice(1))
      collectEffects(part, conditions, variables, what, effects)
  } else if (tag === 'when') {
    const declared = variables.types.length
    for (const clause of clausesOf(first, variables, what))
      collectEffects(second, [...conditions, ...clause], variables, what, effects)
    if (variables.types.length > declared)
      throw new TextAdventureFault(
        'bad_data',
        `${what}: quantifiers in conditions of effects are not supported`,
      )
  } else if (tag === 'forall') {
    throw new TextAdventureFault('bad_data', `${what}: effects on all objects are not supported`)
  } else {
    const literal =
      tag === 'not' ? literalOf(first, false, variables, what) : literalOf(expression, true, variables, what)
    effects.push({ literal, conditions })
  }
}
