/**
 * A PDDL problem: the objects, what holds at first, and the goal.
 *
 * Invariants
 * - The goal is met exactly when each of its parts has a clause that holds.
 */

import { type Clause, clausesOf, Variables } from './clause.ts'
import { type Expression, listOf, parseExpression, type Typed, typedNames, wordOf } from './expression.ts'
import { TextAdventureFault } from './fault.ts'

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

export interface Problem {
  readonly objects: readonly Typed[]
  readonly facts: readonly Fact[]
  /** Objects that only numeric facts mention. */
  readonly measured: readonly string[]
  readonly goal: readonly GoalPart[]
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
