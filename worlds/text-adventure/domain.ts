/**
 * A PDDL domain, read once: types, and what each action needs and does.
 *
 * Invariants
 * - A predicate is fluent exactly when some action's effect names it; all others stay as the problem says.
 * - Costs are left out: no text depends on them.
 * - The goal is met exactly when each of its parts has a clause that holds.
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

/** A PDDL problem: the objects, what holds at first, and the goal. */
export interface Problem {
  readonly objects: readonly Typed[]
  readonly facts: readonly Fact[]
  /** Objects that only numeric facts mention. */
  readonly measured: readonly string[]
  readonly goal: readonly GoalPart[]
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

/** A predicate over objects, by name. */
interface Fact {
  readonly predicate: string
  readonly objects: readonly string[]
}

/** A condition with the types of its variables by number. */
interface GoalPart {
  readonly types: readonly string[]
  readonly clauses: readonly Clause[]
}

/** Reads a problem. @throws TextAdventureFault bad_data, naming the part it cannot read */
export function parseProblem(text: string): Problem {
  const [define, , ...sections] = parseExpression(text, 'PDDL problem')
  if (define !== 'define')
    throw new TextAdventureFault('bad_data', 'PDDL problem: expected (define (problem …) …)')
  let objects: Typed[] = []
  const facts: Fact[] = []
  const measured: string[] = []
  let goal: GoalPart[] | undefined
  for (const section of sections) {
    const [tag, ...rest] = listOf(section, 'PDDL problem')
    if (tag === ':objects') objects = typedNames(rest, 'PDDL objects')
    else if (tag === ':init') for (const fact of rest) collectFact(listOf(fact, 'PDDL init'), facts, measured)
    else if (tag === ':goal') goal = goalParts(rest[0] ?? [])
  }
  if (goal === undefined) throw new TextAdventureFault('bad_data', 'PDDL problem: has no (:goal …)')
  return { objects, facts, measured, goal }
}

function collectFact(fact: readonly Expression[], facts: Fact[], measured: string[]): void {
  if (fact[0] === 'not') return
  if (fact[0] === '=') {
    if (Array.isArray(fact[1]))
      for (const object of fact[1].slice(1)) measured.push(wordOf(object, 'PDDL init'))
    return
  }
  const [predicate = '', ...objects] = fact.map((word) => wordOf(word, 'PDDL init'))
  facts.push({ predicate, objects })
}

function goalParts(goal: Expression): GoalPart[] {
  const [tag, ...parts] = listOf(goal, 'PDDL goal')
  if (tag === 'and') return parts.flatMap(goalParts)
  const variables = new Variables()
  const clauses = clausesOf(goal, variables, 'PDDL goal')
  return [{ types: variables.types, clauses }]
}
