/**
 * Masks that cost no more than what they hide.
 *
 * A number that is masked out is e^−88 at most in the runtime's softmax, which is denormal: the processor takes five
 * times as long for it as for the others.
 *
 * Invariants
 * - A token sees itself, so what is raised to `own − 60` weighs e^−60 of what is seen at most: nothing in single
 *   precision.
 */
import type { Graph, Value } from '../graph/graph.ts'

/** Far below what single precision adds to 1, and as far above where numbers become denormal. */
const farBelow = -60

/**
 * Scores, none of them far below the token's own.
 * @param scores [..., places], masked
 * @param own [..., 1] the score of the token for itself
 */
export function notFarBelow(graph: Graph, scores: Value, own: Value): Value {
  const floor = graph.operation('Add', [own, graph.scalar(farBelow)], own.dims)
  return graph.operation('Max', [scores, floor], scores.dims)
}
