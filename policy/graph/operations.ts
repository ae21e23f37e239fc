/**
 * Differentiable operations that layers are made of: each with its forward operators and, beside them,
 * how gradients pass it.
 *
 * Invariants
 * - Every gradient agrees with finite differences.
 * - None of them depends on the order in which threads finish: no scatter meets one index twice.
 */
import type { Dimension, Graph, Value, WholeGradient } from './graph.ts'

/**
 * x · wᵀ (+ addend), for a matrix of weights stored `[out, in]`.
 * @param x [rows, in]
 * @param w [out, in]
 * @param addend [rows, out]; adding it here saves a pass over memory
 * @returns [rows, out]
 */
export function linear(graph: Graph, x: Value, w: Value, addend?: Value): Value {
  const dims = [x.dims[0] as Dimension, w.dims[0] as Dimension]
  const inputs = addend === undefined ? [x, w] : [x, w, addend]
  const y = graph.operation('Gemm', inputs, dims, { attributes: { transB: 1 } })
  graph.record([y], inputs, ([gradient], [ofX, ofW]) => [
    x.differentiable ? product(graph, gradient as Value, w, ofX, x.dims) : undefined,
    w.differentiable ? product(graph, gradient as Value, x, ofW, w.dims, { transA: 1 }) : undefined,
    gradient,
  ])
  return y
}

/** a · b, with what it is added to where that is known. */
function product(
  graph: Graph,
  a: Value,
  b: Value,
  known: Value | undefined,
  dims: readonly Dimension[],
  attributes: Readonly<Record<string, number>> = {},
): Value | WholeGradient {
  if (known === undefined) return graph.operation('Gemm', [a, b], dims, { attributes })
  return { whole: graph.operation('Gemm', [a, b, known], dims, { attributes }) }
}

/**
 * x with every row scaled to unit root mean square, times w: y = x / √(mean(x²) + ε) · w.
 * @param x [rows, width]
 * @param w [width]
 */
export function rmsNorm(graph: Graph, x: Value, w: Value, epsilon: number): Value {
  const [rows, width] = x.dims as readonly [Dimension, number]
  const [y, inverse] = graph.operations(
    'SimplifiedLayerNormalization',
    [x, w],
    [{ dims: x.dims }, { dims: [rows, 1] }],
    { attributes: { axis: -1, epsilon: { float: epsilon }, stash_type: 1 } },
  )
  // With n = x / rms and u = gradient · w: dw = Σ_rows gradient · n, dx = (u − n · mean(u · n)) / rms.
  graph.record([y], [x, w], ([gradient]) => {
    const normal = graph.operation('Mul', [x, inverse], x.dims)
    const product = graph.operation('Mul', [gradient, normal], x.dims)
    const dw = graph.operation('ReduceSum', [product, graph.integers(0)], w.dims, {
      attributes: { keepdims: 0 },
    })
    const column = graph.operation('Reshape', [w, graph.integers(width, 1)], [width, 1])
    const mean = graph.operation('Gemm', [product, column], [rows, 1], {
      attributes: { alpha: { float: 1 / width } },
    })
    const u = graph.operation('Mul', [gradient, w], x.dims)
    const along = graph.operation('Mul', [normal, mean], x.dims)
    const across = graph.operation('Sub', [u, along], x.dims)
    return [graph.operation('Mul', [across, inverse], x.dims), dw]
  })
  return y
}

/**
 * silu(gate) · up, with silu(a) = a · σ(a).
 * @param gate [rows, width]
 * @param up [rows, width]
 */
export function swiGlu(graph: Graph, gate: Value, up: Value): Value {
  const { dims } = gate
  const sigmoid = graph.operation('Sigmoid', [gate], dims)
  const silu = graph.operation('Mul', [gate, sigmoid], dims)
  const y = graph.operation('Mul', [silu, up], dims)
  // silu'(a) = σ(a) + silu(a) · (1 − σ(a))
  graph.record([y], [gate, up], ([gradient]) => {
    const dUp = graph.operation('Mul', [gradient, silu], dims)
    const dSilu = graph.operation('Mul', [gradient, up], dims)
    const bend = graph.operation('Mul', [silu, sigmoid], dims)
    const slope = graph.operation('Sub', [graph.operation('Add', [sigmoid, silu], dims), bend], dims)
    return [graph.operation('Mul', [dSilu, slope], dims), dUp]
  })
  return y
}

/** x times a number fed or stored without dimensions; no gradient for the number. */
export function scale(graph: Graph, x: Value, factor: Value): Value {
  const y = graph.operation('Mul', [x, factor], x.dims)
  graph.record([y], [x], ([gradient]) => [graph.operation('Mul', [gradient, factor], x.dims)])
  return y
}

/**
 * The same elements under other dimensions.
 * @param shape int64 vector as ONNX's Reshape takes it
 * @param inverse the shape that gives back x's dimensions
 */
export function reshape(
  graph: Graph,
  x: Value,
  shape: Value,
  dims: readonly Dimension[],
  inverse: Value,
): Value {
  const y = graph.operation('Reshape', [x, shape], dims)
  graph.record([y], [x], ([gradient]) => [graph.operation('Reshape', [gradient, inverse], x.dims)])
  return y
}

/** x + b in every row. @param x [rows, width] @param b [width] */
export function biased(graph: Graph, x: Value, b: Value): Value {
  const y = graph.operation('Add', [x, b], x.dims)
  graph.record([y], [x, b], ([gradient]) => [
    gradient,
    graph.operation('ReduceSum', [gradient as Value, graph.integers(0)], b.dims, {
      attributes: { keepdims: 0 },
    }),
  ])
  return y
}

/** x with its axes in another order. */
export function transpose(graph: Graph, x: Value, order: readonly number[]): Value {
  const dims = order.map((axis) => x.dims[axis] as Dimension)
  const y = graph.operation('Transpose', [x], dims, { attributes: { perm: order } })
  const inverse = order.map((_, axis) => order.indexOf(axis))
  graph.record([y], [x], ([gradient]) => [
    graph.operation('Transpose', [gradient], x.dims, { attributes: { perm: inverse } }),
  ])
  return y
}

/**
 * Rows of x, none of them twice.
 * @param x [rows, width]
 * @param indices int64 [chosen], all different: the gradient is written, not added, to its row
 * @returns [chosen, width]
 */
export function distinctRows(graph: Graph, x: Value, indices: Value): Value {
  const [chosen] = indices.dims as readonly [Dimension]
  const y = graph.operation('Gather', [x, indices], [chosen, x.dims[1] as Dimension], {
    attributes: { axis: 0 },
  })
  graph.record([y], [x], ([gradient]) => {
    const shape = graph.operation('Shape', [x], [2], { type: 'int64' })
    const zeros = graph.operation('ConstantOfShape', [shape], x.dims)
    const column = graph.operation('Unsqueeze', [indices, graph.integers(1)], [chosen, 1], { type: 'int64' })
    return [graph.operation('ScatterND', [zeros, column, gradient], x.dims)]
  })
  return y
}

/** Logarithms of probabilities, and the spread of their distribution. */
export interface LogProbabilities {
  /** [rows] log softmax(logits)[target] */
  readonly chosen: Value
  /** [rows] −Σ p log p, in nats */
  readonly entropy: Value
}

/**
 * Log-probabilities of targets under the softmax of logits, and its entropy.
 * @param logits [rows, vocabulary]
 * @param targets int64 [rows]
 */
export function logProbabilities(graph: Graph, logits: Value, targets: Value): LogProbabilities {
  const [rows] = logits.dims as readonly [Dimension]
  const last = graph.integers(1)
  const all = graph.operation('LogSoftmax', [logits], logits.dims, { attributes: { axis: -1 } })
  const column = graph.operation('Unsqueeze', [targets, last], [rows, 1], { type: 'int64' })
  const picked = graph.operation('GatherElements', [all, column], [rows, 1], { attributes: { axis: 1 } })
  const chosen = graph.operation('Squeeze', [picked, last], [rows])
  const probabilities = graph.operation('Exp', [all], logits.dims)
  const weighted = graph.operation('Mul', [probabilities, all], logits.dims)
  const negative = graph.operation('ReduceSum', [weighted, last], [rows, 1], { attributes: { keepdims: 1 } })
  const entropy = graph.operation('Squeeze', [graph.operation('Neg', [negative], [rows, 1]), last], [rows])
  // d chosen / d logit_j = [j = target] − p_j ; d entropy / d logit_j = −p_j (log p_j − Σ p log p)
  graph.record([chosen, entropy], [logits], ([dChosen, dEntropy]) => {
    let slope: Value | undefined
    if (dChosen !== undefined) {
      const factor = graph.operation('Unsqueeze', [dChosen, last], [rows, 1])
      const spread = graph.operation(
        'Mul',
        [probabilities, graph.operation('Neg', [factor], [rows, 1])],
        logits.dims,
      )
      slope = graph.operation('ScatterElements', [spread, column, factor], logits.dims, {
        attributes: { axis: 1, reduction: 'add' },
      })
    }
    if (dEntropy !== undefined) {
      const factor = graph.operation('Unsqueeze', [dEntropy, last], [rows, 1])
      const distance = graph.operation('Sub', [negative, all], logits.dims)
      const direction = graph.operation('Mul', [probabilities, distance], logits.dims)
      const part = graph.operation('Mul', [direction, factor], logits.dims)
      slope = slope === undefined ? part : graph.operation('Add', [slope, part], logits.dims)
    }
    return [slope]
  })
  return { chosen, entropy }
}
