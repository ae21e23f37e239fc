/**
 * How a set of entities came about: the calls that lead to it, as a tree over entities.
 *
 * Invariants
 * - A derivation is never changed; derivations share their parts.
 * - Its length counts every part as often as it is used, so it bounds the query that it is written as.
 */

/** A set of entities or values. */
export type SetDerivation =
  | { readonly kind: 'entity'; readonly id: string }
  | { readonly kind: 'neighbors'; readonly of: SetDerivation; readonly relation: string }
  | { readonly kind: 'intersection'; readonly left: SetDerivation; readonly right: SetDerivation }
  | { readonly kind: 'argmax' | 'argmin'; readonly of: SetDerivation; readonly attribute: string }

/** The size of a set, as a set of one number. */
export interface CountDerivation {
  readonly kind: 'count'
  readonly of: SetDerivation
}

export type Derivation = SetDerivation | CountDerivation

/** Parts of a derivation, shared ones counted each time. */
export function lengthOf(derivation: Derivation): number {
  // Doubling a set thirty times would be a walk of a billion steps: shared parts are measured once.
  const known = new Map<Derivation, number>()
  function measure(part: Derivation): number {
    const before = known.get(part)
    if (before !== undefined) return before
    const length = 1 + partsOf(part).reduce((sum, inner) => sum + measure(inner), 0)
    known.set(part, length)
    return length
  }
  return measure(derivation)
}

/** The entities that a derivation starts from, each once. */
export function entitiesOf(derivation: Derivation): string[] {
  const seen = new Set<Derivation>()
  const entities = new Set<string>()
  function visit(part: Derivation): void {
    if (seen.has(part)) return
    seen.add(part)
    if (part.kind === 'entity') entities.add(part.id)
    else partsOf(part).forEach(visit)
  }
  visit(derivation)
  return [...entities]
}

function partsOf(derivation: Derivation): readonly SetDerivation[] {
  if (derivation.kind === 'entity') return []
  return derivation.kind === 'intersection' ? [derivation.left, derivation.right] : [derivation.of]
}
