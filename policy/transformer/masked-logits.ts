/**
 * Logits of the ids that have a token; the others are out of reach of any draw and any gradient.
 *
 * Invariants
 * - [MASKED-1] A probability of exactly 0 at each tokenless id, at any temperature, and bit for bit the logits given at the others.
 * - Nothing is computed where all ids have a token.
 */
import type { Graph, Value } from '../graph/graph.ts'
import type { Architecture } from './architecture.ts'

/** Finite, so that 0 times its logarithm is 0; beside it any logit is lost in rounding. */
const nowhere = -1e30

/** @param logits [rows, vocabulary] @returns the same dimensions */
export function maskedLogits(
  graph: Graph,
  logits: Value,
  { vocab_size: vocabulary, tokenless = [] }: Pick<Architecture, 'vocab_size' | 'tokenless'>,
): Value {
  if (tokenless.length === 0) return logits
  const bias = new Array<number>(vocabulary).fill(0)
  for (const [begin, end] of tokenless) bias.fill(nowhere, begin, end)
  const masked = graph.operation('Add', [logits, graph.constant('float32', [vocabulary], bias)], logits.dims)
  // The mask is constant, and softmax leaves a tokenless id no gradient.
  graph.record([masked], [logits], ([gradient]) => [gradient])
  return masked
}
