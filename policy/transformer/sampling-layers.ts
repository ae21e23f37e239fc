/**
 * The common layers of graphs that sample: all of the decoder but its attention, and the draw.
 *
 * Invariants
 * - The draw is made in the graph from the uniform of its row (see `drawing.ts`).
 */
import { type Graph, microsoft, type Value } from '../graph/graph.ts'
import { type Architecture, hasBiases, hasHeadNorms } from './architecture.ts'
import { drawToken } from './drawing.ts'
import { maskedLogits } from './masked-logits.ts'
import { columnsOf, layerInputs, type Products, product, weightOf } from './weight-inputs.ts'

/** Names of a layer's past among the inputs and of its new keys and values among the outputs. */
export function cacheNames(layer: number) {
  return {
    key: `key.${layer}`,
    value: `value.${layer}`,
    newKey: `new_key.${layer}`,
    newValue: `new_value.${layer}`,
  } as const
}

export interface Widths {
  readonly query: number
  readonly keyValue: number
  readonly group: number
}

export function widthsOf(a: Architecture): Widths {
  return {
    query: a.num_attention_heads * a.head_dim,
    keyValue: a.num_key_value_heads * a.head_dim,
    group: a.num_attention_heads / a.num_key_value_heads,
  }
}

export interface Rotations {
  readonly cos: Value
  readonly sin: Value
}

export function rotaryInputs(graph: Graph, headDim: number): Rotations {
  const dims = ['positions', headDim / 2]
  return { cos: graph.input('cos', dims), sin: graph.input('sin', dims) }
}

/** Attention of a layer without its projections. @param projected [..., query + 2·keyValue] @returns [..., query] */
export type Attention = (layer: number, projected: Value) => Value

/** Hidden states as a sum, [..., hidden] each: the norm that follows adds them up. */
export interface Residual {
  readonly x: Value
  readonly added: Value
}

/**
 * All layers.
 * @param ids the tokens, [...]
 * @returns hidden states before the last norm
 */
export function decoder(
  graph: Graph,
  a: Architecture,
  products: Products,
  ids: Value,
  attention: Attention,
): Residual & { readonly embedding: Value } {
  const { hidden_size: hidden, intermediate_size: inner } = a
  const { query, keyValue } = widthsOf(a)
  const embedding = weightOf(graph, products, 'embedding', [a.vocab_size, hidden])
  let x = graph.operation('Gather', [embedding, ids], [...ids.dims, hidden], { attributes: { axis: 0 } })
  let added: Value | undefined
  for (let layer = 0; layer < a.num_hidden_layers; layer++) {
    const names = layerInputs(layer)
    const before = norm(graph, a, products, x, added, names.inputNorm)
    const projected = product(
      graph,
      products,
      before.normed,
      names.queryKeyValue,
      query + 2 * keyValue,
      hidden,
    )
    const mixed = attention(layer, adjusted(graph, a, products, layer, projected))
    const attended = product(graph, products, mixed, names.attentionOut, hidden, query)
    const middle = norm(graph, a, products, before.sum, attended, names.feedForwardNorm)
    const wide = product(graph, products, middle.normed, names.gateUp, 2 * inner, hidden)
    const [gate, up] = columnsOf(graph, wide, inner, inner) as [Value, Value]
    x = middle.sum
    added = product(graph, products, opened(graph, gate, up), names.down, hidden, inner)
  }
  return { x, added: added as Value, embedding }
}

/** A projection with what its family adds: biases, or a norm of each head's queries and keys. */
function adjusted(graph: Graph, a: Architecture, products: Products, layer: number, x: Value): Value {
  const { query, keyValue } = widthsOf(a)
  const names = layerInputs(layer)
  if (hasBiases(a)) {
    const bias = weightOf(graph, products, names.queryKeyValueBias, [query + 2 * keyValue])
    return graph.operation('Add', [x, bias], x.dims)
  }
  if (!hasHeadNorms(a)) return x
  const [q, k, v] = columnsOf(graph, x, query, keyValue, keyValue) as [Value, Value, Value]
  const normed = (y: Value, name: string): Value => {
    const kept = y.dims.slice(0, -1)
    const width = y.dims.at(-1) as number
    const same = kept.map(() => 0)
    const heads = width / a.head_dim
    const apart = graph.operation(
      'Reshape',
      [y, graph.integers(...same, heads, a.head_dim)],
      [...kept, heads, a.head_dim],
    )
    const weight = weightOf(graph, products, name, [a.head_dim])
    const attributes = { axis: -1, epsilon: { float: a.rms_norm_eps } }
    const normal = graph.operation('SimplifiedLayerNormalization', [apart, weight], apart.dims, {
      attributes,
    })
    return graph.operation('Reshape', [normal, graph.integers(...same, width)], y.dims)
  }
  const parts = [normed(q, names.queryNorm), normed(k, names.keyNorm), v]
  return graph.operation('Concat', parts, x.dims, { attributes: { axis: -1 } })
}

/** silu(gate) · up */
function opened(graph: Graph, gate: Value, up: Value): Value {
  const silu = graph.operation('QuickGelu', [gate], gate.dims, {
    attributes: { alpha: { float: 1 } }, // x·sigmoid(x), which is SiLU
    domain: microsoft,
  })
  return graph.operation('Mul', [silu, up], up.dims)
}

/** The norm of x, or of x + added, and that sum. */
function norm(
  graph: Graph,
  a: Architecture,
  products: Products,
  x: Value,
  added: Value | undefined,
  name: string,
): { readonly normed: Value; readonly sum: Value } {
  const weight = weightOf(graph, products, name, [a.hidden_size])
  const epsilon = { float: a.rms_norm_eps }
  if (added === undefined) {
    const attributes = { axis: -1, epsilon }
    const normed = graph.operation('SimplifiedLayerNormalization', [x, weight], x.dims, { attributes })
    return { normed, sum: x }
  }
  const [normed, , , sum] = graph.operations(
    'SkipSimplifiedLayerNormalization',
    [x, added, weight],
    [{ dims: x.dims }, undefined, undefined, { dims: x.dims }],
    { attributes: { epsilon }, domain: microsoft },
  )
  return { normed, sum }
}

/** Draws a token after each hidden state. Inputs per row: `inverse_temperature`, `uniform`, `greedy` [count, 1]. */
export function sample(
  graph: Graph,
  a: Architecture,
  products: Products,
  { x, added }: Residual,
  embedding: Value,
  count: string,
): void {
  const { vocab_size: vocabulary } = a
  const weight = a.tie_word_embeddings
    ? embedding
    : weightOf(graph, products, 'head', [vocabulary, a.hidden_size])
  const { normed } = norm(graph, a, products, x, added, 'final_norm')
  const every = graph.operation('Gemm', [normed, weight], [count, vocabulary], { attributes: { transB: 1 } })
  const logits = maskedLogits(graph, every, a)
  const column = [count, 1] as const
  const { token, probability } = drawToken(graph, logits, {
    inverseTemperature: graph.input('inverse_temperature', column),
    uniform: graph.input('uniform', column),
    greedy: graph.input('greedy', column, { type: 'bool' }),
  })
  graph.output('token', graph.operation('Cast', [token], column, { attributes: { to: 6 }, type: 'int32' }))
  graph.output('probability', probability)
}
