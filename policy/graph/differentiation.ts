/**
 * Reverse-mode differentiation of a graph.
 *
 * Invariants
 * - The gradients of a value used several times are added in a fixed order (latest use first).
 * - Records that no seed reaches add no operators.
 */
import { type Graph, GraphFault, type Value } from './graph.ts'

/**
 * Adds the operators that compute gradients, walking the graph's records backwards.
 * @param seeds results and their gradients, of the results' dimensions
 * @returns the gradient of a differentiable value
 * @throws GraphFault (the returned function) when no gradient reaches the value
 */
export function gradients(
  graph: Graph,
  seeds: readonly (readonly [Value, Value])[],
): (value: Value) => Value {
  const sums = new Map<string, Value>()
  function add(value: Value, gradient: Value | undefined): void {
    if (gradient === undefined || !value.differentiable) return
    const known = sums.get(value.name)
    sums.set(
      value.name,
      known === undefined ? gradient : graph.operation('Add', [known, gradient], value.dims),
    )
  }
  for (const [value, gradient] of seeds) add(value, gradient)
  for (const { results, inputs, backward } of graph.records.toReversed()) {
    const given = results.map((result) => sums.get(result.name))
    if (given.every((gradient) => gradient === undefined)) continue
    const found = backward(given)
    for (const [index, input] of inputs.entries()) add(input, found[index])
  }
  return (value) => {
    const gradient = sums.get(value.name)
    if (gradient === undefined) throw new GraphFault('no_gradient', `no gradient reaches "${value.name}"`)
    return gradient
  }
}
