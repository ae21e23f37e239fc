/**
 * How the instances of a clause are found: an order of joins, made once per clause.
 *
 * Invariants
 * - A clause is instantiated when its trigger, a fluent literal, first holds; without one, at the start.
 *   An instance whose literals all hold has therefore always been found.
 */
import type { Clause, Literal } from './clause.ts'

/** A step of the search for values of a clause's variables. */
export type Step =
  | { readonly kind: 'join'; readonly literal: Literal }
  | { readonly kind: 'check'; readonly literal: Literal }
  | { readonly kind: 'choose'; readonly variable: number }

export interface Plan {
  readonly trigger: Literal | undefined
  readonly steps: readonly Step[]
  /** Literals that must be watched during play. */
  readonly fluents: readonly Literal[]
}

/** @param rarity how often clauses ask for a predicate; triggers that are rarely asked for are preferred
 *  @param external numbers below it are parameters: they get values even where no literal names them */
export function planClause(
  clause: Clause,
  fluents: ReadonlySet<string>,
  rarity: ReadonlyMap<string, number>,
  external: number,
): Plan {
  const watched = clause.filter(({ predicate }) => fluents.has(predicate))
  const fixed = clause.filter(({ predicate }) => !fluents.has(predicate))
  const trigger = pickTrigger(watched, rarity)
  const bound = new Set<number>(variablesOf(trigger))
  const wanted = new Set<number>(clause.flatMap(variablesOf))
  for (let parameter = 0; parameter < external; parameter++) wanted.add(parameter)

  const steps: Step[] = []
  const waiting = new Set(fixed)
  for (;;) {
    for (const literal of waiting) {
      if (!variablesOf(literal).every((variable) => bound.has(variable))) continue
      steps.push({ kind: 'check', literal })
      waiting.delete(literal)
    }
    const joined = bestJoin(waiting, bound)
    if (joined !== undefined) {
      steps.push({ kind: 'join', literal: joined })
      waiting.delete(joined)
      for (const variable of variablesOf(joined)) bound.add(variable)
      continue
    }
    const unbound = [...wanted].find((variable) => !bound.has(variable))
    if (unbound === undefined) return { trigger, steps, fluents: watched }
    steps.push({ kind: 'choose', variable: unbound })
    bound.add(unbound)
  }
}

/** Distinct variables of a literal. */
function variablesOf(literal: Literal | undefined): number[] {
  if (literal === undefined) return []
  return [...new Set(literal.terms.filter((term): term is number => typeof term === 'number'))]
}

function pickTrigger(watched: readonly Literal[], rarity: ReadonlyMap<string, number>): Literal | undefined {
  const rank = (literal: Literal) => variablesOf(literal).length * 1000 - (rarity.get(literal.predicate) ?? 0)
  return watched
    .filter(({ positive }) => positive)
    .reduce<Literal | undefined>(
      (best, next) => (best === undefined || rank(next) > rank(best) ? next : best),
      undefined,
    )
}

/** The literal with most terms known; a comparison cannot give values. */
function bestJoin(waiting: ReadonlySet<Literal>, bound: ReadonlySet<number>): Literal | undefined {
  let best: Literal | undefined
  let bestOpen = Number.POSITIVE_INFINITY
  for (const literal of waiting) {
    if (!literal.positive || literal.predicate === '=') continue
    const open = variablesOf(literal).filter((variable) => !bound.has(variable)).length
    if (open < bestOpen) [best, bestOpen] = [literal, open]
  }
  return best
}
