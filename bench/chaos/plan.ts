/**
 * The plan of a chaos run: which faults strike, in which order and how long after the one before.
 *
 * Invariants
 * - It is a function of seed, number and kinds alone.
 * - All kinds strike equally often, up to a difference of one.
 */
import { seedOf, uniforms } from '../../identity/identity.ts'
import { shuffled } from '../../learning/rollout/shuffled.ts'

/** One fault to come. */
export interface PlannedFault<Kind extends string = string> {
  /** From 1. */
  readonly number: number
  readonly kind: Kind
  /** Turns that are sampled between the recovery from the fault before and this one. */
  readonly afterTurns: number
  /** Uniform in [0, 1), for what the fault itself has to choose. */
  readonly choice: number
}

const fewestTurns = 2
const mostTurns = 30

/** Rounds of all kinds, each in an order of its own. */
export function planFaults<Kind extends string>(
  seed: number,
  count: number,
  kinds: readonly Kind[],
): readonly PlannedFault<Kind>[] {
  const draw = uniforms(seedOf(seed, 'chaos'))
  const plan: PlannedFault<Kind>[] = []
  let round: Kind[] = []
  while (plan.length < count && kinds.length > 0) {
    if (round.length === 0) round = shuffled(kinds, draw)
    const kind = round.pop()
    if (kind === undefined) break
    const afterTurns = fewestTurns + Math.floor(draw() * (mostTurns - fewestTurns + 1))
    plan.push({ number: plan.length + 1, kind, afterTurns, choice: draw() })
  }
  return plan
}
