/**
 * Reverse-mode differentiation of a graph.
 *
 * Invariants
 * - The gradients of a value used several times are added in a fixed order (latest use first).
 * - Records that no seed reaches add no operators.
 * - [ADDING-1] A gradient that is begun has what it was begun with in it once, whether an operation adds it or the walk
 *   does.
 */
import { type Graph, GraphFault, type Value, type WholeGradient } from './graph.ts'

/**
 * Adds the operators that compute gradients, walking the graph's records backwards.
 * @param seeds results and their gradients, of the results' dimensions
 * @param begun by the name of a value: what its gradient is added to
 * @returns the gradient of a differentiable value
 * @throws GraphFault (the returned function) when no gradient reaches the value
 */
export function gradients(
  graph: Graph,
  seeds: readonly (readonly [Value, Value])[],
  begun: ReadonlyMap<string, Value> = new Map(),
): (value: Value) => Value {
  const sums = new Map(begun)
  function add(value: Value, gradient: Value | WholeGradient | undefined): void {
    if (gradient === undefined || !value.differentiable) return
    if ('whole' in gradient) {
      sums.set(value.name, gradient.whole)
      return
    }
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
    // An input that is there twice is added to twice: the first time as a whole, then to that.
    const known = inputs.map(({ name }, at) =>
      inputs.findIndex((input) => input.name === name) === at ? sums.get(name) : undefined,
    )
    const found = backward(given, known)
    for (const [index, input] of inputs.entries()) add(input, found[index])
  }
  return (value) => {
    const gradient = sums.get(value.name)
    if (gradient === undefined || gradient === begun.get(value.name))
      throw new GraphFault('no_gradient', `no gradient reaches "${value.name}"`)
    return gradient
  }
}
