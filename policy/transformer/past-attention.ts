/**
 * Parts of attention over a past that lies in the caller's arrays and new tokens beside it.
 *
 * Invariants
 * - Neither is copied to lie beside the other: only scores are.
 */
import { type Graph, microsoft, type Value } from '../graph/graph.ts'

/** left · rightᵀ over the last two dimensions, scale 1 (any other scale misses the runtime's fast path). */
export function transposedProduct(graph: Graph, left: Value, right: Value): Value {
  return graph.operation('FusedMatMul', [left, right], [...left.dims.slice(0, -1), right.dims.at(-2) ?? 1], {
    attributes: { transB: 1 },
    domain: microsoft,
  })
}

/** query · key over the last dimension; with one key the runtime's products cost more than the sums. */
function scoreOfOne(graph: Graph, query: Value, key: Value): Value {
  const terms = graph.operation('Mul', [query, key], query.dims)
  return graph.operation('ReduceSum', [terms, graph.integers(-1)], [...query.dims.slice(0, -1), 1], {
    attributes: { keepdims: 1 },
  })
}

/**
 * Every query's score for its own key.
 * @param queries [rows, keyValueHeads, group · chunk, headDim]
 * @param key [rows, keyValueHeads, chunk, headDim]
 */
export function ownScores(graph: Graph, queries: Value, key: Value, group: number): Value {
  const [rows, keyValueHeads, chunk, headDim] = key.dims as readonly [string, number, string, number]
  const byGroup = graph.operation(
    'Reshape',
    [queries, graph.integers(0, keyValueHeads, group, -1, headDim)],
    [rows, keyValueHeads, group, chunk, headDim],
  )
  const oneGroup = graph.operation(
    'Unsqueeze',
    [key, graph.integers(2)],
    [rows, keyValueHeads, 1, chunk, headDim],
  )
  const scores = scoreOfOne(graph, byGroup, oneGroup)
  const column = [...queries.dims.slice(0, -1), 1]
  return graph.operation('Reshape', [scores, graph.integers(0, keyValueHeads, -1, 1)], column)
}

/** softmax(scores) applied to values. */
export function mixOf(graph: Graph, scores: Value, value: Value): Value {
  const weights = graph.operation('Softmax', [scores], scores.dims, { attributes: { axis: -1 } })
  return graph.operation('MatMul', [weights, value], [...scores.dims.slice(0, -1), value.dims.at(-1) ?? 1])
}

/** softmax(scores) applied to the past's values and the new ones, which lie in two arrays. */
export function mixValues(
  graph: Graph,
  scores: Value,
  widths: Value,
  pastValue: Value,
  newValue: Value,
): Value {
  const weights = graph.operation('Softmax', [scores], scores.dims, { attributes: { axis: -1 } })
  const leading = scores.dims.slice(0, -1)
  const headDim = newValue.dims.at(-1) ?? 1
  const [ofPast, ofNew] = graph.operations(
    'Split',
    [weights, widths],
    [{ dims: [...leading, 'capacity'] }, { dims: [...leading, newValue.dims.at(-2) ?? 1] }],
    { attributes: { axis: -1 } },
  )
  const dims = [...leading, headDim]
  return graph.operation(
    'Add',
    [
      graph.operation('MatMul', [ofPast, pastValue], dims),
      graph.operation('MatMul', [ofNew, newValue], dims),
    ],
    dims,
  )
}
