/**
 * The graphs that sample: `decode` feeds one new token per row, `prefill` feeds chunks of several tokens.
 *
 * Both read keys and values of earlier tokens from the caller's arrays and return only those of the new
 * tokens; scores over the past and over the new tokens are computed apart and meet in one softmax, so
 * the past is never copied to be extended.
 *
 * Invariants
 * - The draw is made in the graph from the uniform of its row (see `drawing.ts`).
 * - Places masked out have no influence: garbage there changes nothing.
 * - Weights are inputs, in the form that `fuseWeights` gives (the query projection carries the scale).
 * - Where results must be exact, how many rows a step has changes no row's sums, as long as there are two
 *   (see `productBlocks` and `isTurned`).
 */
import { Graph, microsoft, type Value } from '../graph/graph.ts'
import type { Architecture } from './architecture.ts'
import { drawToken } from './drawing.ts'
import { notFarBelow } from './masked-softmax.ts'
import { mixOf, mixValues, ownScores, scoreOfOne, transposedProduct } from './past-attention.ts'

/** Added to the score of a place that must not be seen; finite, so that idle rows stay free of NaN. */
export const maskedScore = -1e9

/** Names of a layer's weights among the inputs. */
export function layerInputs(layer: number) {
  return {
    inputNorm: `input_norm.${layer}`,
    queryKeyValue: `query_key_value.${layer}`,
    attentionOut: `attention_out.${layer}`,
    feedForwardNorm: `feed_forward_norm.${layer}`,
    gateUp: `gate_up.${layer}`,
    down: `down.${layer}`,
  } as const
}

/** Names of a layer's past among the inputs and of its new keys and values among the outputs. */
export function cacheNames(layer: number) {
  return {
    key: `key.${layer}`,
    value: `value.${layer}`,
    newKey: `new_key.${layer}`,
    newValue: `new_value.${layer}`,
  } as const
}

/** Terms that the runtime sums in one go, whatever its threads take of the product. */
const sumBlock = 128
/**
 * Columns of a thread below which the runtime sums more terms in one go; threads take multiples of 16, so
 * their shares may differ by that.
 */
const fewColumns = 64 + 16

/**
 * Widths of the blocks in which x·Wᵀ is summed, W of [out, width].
 *
 * The runtime gives its threads columns of a low product and rows of a high one, and cuts the sums by the
 * columns that a thread has; so narrow products are cut here, where rows in flight have no say.
 * @param exactThreads threads on which a row's sums must not depend on other rows; 1 where they may, which is faster
 */
export function productBlocks(out: number, width: number, exactThreads: number): readonly number[] {
  if (exactThreads === 1 || out > fewColumns * exactThreads) return [width]
  const blocks: number[] = []
  for (let at = 0; at < width; at += sumBlock) blocks.push(Math.min(sumBlock, width - at))
  return blocks
}

/** Name of a weight's block among the inputs. */
export function blockInput(name: string, block: number, blocks: number): string {
  return blocks === 1 ? name : `${name}.block.${block}`
}

interface Widths {
  readonly query: number
  readonly keyValue: number
  readonly group: number
}

function widthsOf(a: Architecture): Widths {
  return {
    query: a.num_attention_heads * a.head_dim,
    keyValue: a.num_key_value_heads * a.head_dim,
    group: a.num_attention_heads / a.num_key_value_heads,
  }
}

/**
 * One token for each of `rows` rows.
 *
 * Inputs: `ids` [rows] int64, `positions` [1, rows] int64, `cos` and `sin` [positions, headDim/2],
 * `mask` [rows, 1, 1, 1, capacity + 1] (the last place is the new token's), `widths` int64
 * (capacity, 1), `key.l` and `value.l` [rows, keyValueHeads, 1, capacity, headDim], the weights, and
 * the draw's inputs (see `sample`).
 * Outputs: `token` [rows, 1] int32, `probability` [rows, 1], `new_key.l`, `new_value.l` [rows, keyValueHeads·headDim].
 * @param narrowRows rows at most, where a run has one thread: its large products are turned (see `turnedProduct`)
 */
export function buildDecodeGraph(a: Architecture, exactThreads: number, narrowRows?: number): Uint8Array {
  const graph = new Graph()
  const { head_dim: headDim, num_key_value_heads: keyValueHeads } = a
  const { query, group } = widthsOf(a)
  const mask = graph.input('mask', ['rows', 1, 1, 1, 'places'])
  const widths = graph.input('widths', [2], { type: 'int64' })
  const { hidden, embedding } = decoder(graph, a, { exactThreads, narrowRows }, 'rows', (layer, q, k, v) => {
    const names = cacheNames(layer)
    // The group is a batch dimension: one row of scores per product takes the runtime's vector-matrix path.
    const past = ['rows', keyValueHeads, 1, 'capacity', headDim] as const
    const pastKey = graph.input(names.key, past)
    const pastValue = graph.input(names.value, past)
    graph.output(names.newKey, k)
    graph.output(names.newValue, v)
    const one = ['rows', keyValueHeads, 1, 1, headDim] as const
    const oneShape = graph.integers(-1, keyValueHeads, 1, 1, headDim)
    const queries = graph.operation(
      'Reshape',
      [q, graph.integers(-1, keyValueHeads, group, 1, headDim)],
      ['rows', keyValueHeads, group, 1, headDim],
    )
    const newKey = graph.operation('Reshape', [k, oneShape], one)
    const newValue = graph.operation('Reshape', [v, oneShape], one)
    const own = scoreOfOne(graph, queries, newKey)
    const scores = graph.operation(
      'Concat',
      [transposedProduct(graph, queries, pastKey), own],
      ['rows', keyValueHeads, group, 1, 'places'],
      { attributes: { axis: -1 } },
    )
    const masked = graph.operation('Add', [scores, mask], scores.dims)
    const mixed = mixValues(graph, notFarBelow(graph, masked, own), widths, pastValue, newValue, 'Mul')
    return graph.operation('Reshape', [mixed, graph.integers(-1, query)], ['rows', query]) // [rows, heads·headDim]
  })
  sample(graph, a, hidden, embedding, 'rows', narrowRows)
  return graph.encode()
}

/**
 * Chunks of tokens for several rows, packed: `tokens` real tokens, laid out as [rows, chunk] only
 * around attention.
 *
 * Inputs as in `buildDecodeGraph`, but `ids` [tokens], `positions` [1, tokens]; `expand` [rows, chunk]
 * int64: the token at each place (any token where the chunk is shorter); `compact` [tokens] int64: the
 * place row·chunk + offset of each token; `causal` [1, 1, group·chunk, chunk]; `selected` [drawn] int64:
 * the tokens to sample after. With a past also `slots` [rows] int64: the rows of `key.l` and `value.l`
 * [slots, keyValueHeads, capacity, headDim] to attend, `mask` [rows, 1, 1, capacity] and `widths`
 * (capacity, chunk).
 * Outputs: `token`, `probability` [drawn, 1]; `new_key.l`, `new_value.l` [rows, keyValueHeads, chunk, headDim].
 */
export function buildPrefillGraph(a: Architecture, exactThreads: number, withPast: boolean): Uint8Array {
  const graph = new Graph()
  const { head_dim: headDim, num_key_value_heads: keyValueHeads, num_attention_heads: heads } = a
  const { query, group } = widthsOf(a)
  const expand = graph.input('expand', ['rows', 'chunk'], { type: 'int64' })
  const compact = graph.input('compact', ['tokens'], { type: 'int64' })
  const causal = graph.input('causal', [1, 1, 'queries', 'chunk'])
  const past = withPast
    ? {
        slots: graph.input('slots', ['rows'], { type: 'int64' }),
        mask: graph.input('mask', ['rows', 1, 1, 'capacity']),
        widths: graph.input('widths', [2], { type: 'int64' }),
      }
    : undefined
  const byHead = (packed: Value, count: number): Value => {
    const width = count * headDim
    const padded = graph.operation('Gather', [packed, expand], ['rows', 'chunk', width], {
      attributes: { axis: 0 },
    })
    const split = graph.operation(
      'Reshape',
      [padded, graph.integers(0, 0, count, headDim)],
      ['rows', 'chunk', count, headDim],
    )
    return graph.operation('Transpose', [split], ['rows', count, 'chunk', headDim], {
      attributes: { perm: [0, 2, 1, 3] },
    })
  }
  const { hidden, embedding } = decoder(graph, a, { exactThreads }, 'tokens', (layer, q, k, v) => {
    const names = cacheNames(layer)
    const queries = graph.operation(
      'Reshape',
      [byHead(q, heads), graph.integers(0, keyValueHeads, -1, headDim)],
      ['rows', keyValueHeads, group === 1 ? 'chunk' : 'queries', headDim],
    )
    const newKey = byHead(k, keyValueHeads)
    const own = ownScores(graph, queries, newKey, group)
    const newValue = byHead(v, keyValueHeads)
    graph.output(names.newKey, newKey)
    graph.output(names.newValue, newValue)
    const within = transposedProduct(graph, queries, newKey)
    const newScores = graph.operation('Add', [within, causal], within.dims)
    let mixed: Value
    if (past === undefined) {
      mixed = mixOf(graph, notFarBelow(graph, newScores, own), newValue)
    } else {
      const stored = ['slots', keyValueHeads, 'capacity', headDim] as const
      const rows = (name: string): Value =>
        graph.operation('Gather', [graph.input(name, stored), past.slots], ['rows', ...stored.slice(1)], {
          attributes: { axis: 0 },
        })
      const before = transposedProduct(graph, queries, rows(names.key))
      const pastScores = graph.operation('Add', [before, past.mask], before.dims)
      const scores = graph.operation(
        'Concat',
        [pastScores, newScores],
        ['rows', keyValueHeads, 'queries', 'places'],
        { attributes: { axis: -1 } },
      )
      mixed = mixValues(graph, notFarBelow(graph, scores, own), past.widths, rows(names.value), newValue)
    }
    const perHead = graph.operation(
      'Reshape',
      [mixed, graph.integers(0, heads, -1, headDim)],
      ['rows', heads, 'chunk', headDim],
    )
    const perToken = graph.operation('Transpose', [perHead], ['rows', 'chunk', heads, headDim], {
      attributes: { perm: [0, 2, 1, 3] },
    })
    const flat = graph.operation('Reshape', [perToken, graph.integers(-1, query)], ['padded', query])
    return graph.operation('Gather', [flat, compact], ['tokens', query], { attributes: { axis: 0 } })
  })
  const selected = graph.input('selected', ['drawn'], { type: 'int64' })
  const last = graph.operation('Gather', [hidden, selected], ['drawn', a.hidden_size], {
    attributes: { axis: 0 },
  })
  sample(graph, a, last, embedding, 'drawn')
  return graph.encode()
}

/** How products are computed. */
interface Products {
  readonly exactThreads: number
  readonly narrowRows?: number | undefined
}

/**
 * Whether a product of few rows is computed as W·xᵀ: the runtime copies its right factor before it multiplies, and x
 * is small. It cuts sums of more than 1,024 terms for up to 16 rows, 512 for up to 32, …: where it would, a row's sums
 * depend on how many others there are.
 */
function isTurned(narrowRows: number | undefined, width: number): boolean {
  if (narrowRows === undefined) return false
  let terms = 1024
  for (let rows = 16; rows < narrowRows; rows *= 2) terms /= 2
  return width <= terms
}

/** (x·wᵀ)ᵀ, [out, rows]. @param x [rows, width] @param w [out, width] */
function turnedProduct(graph: Graph, x: Value, w: Value): Value {
  return graph.operation('FusedMatMul', [w, x], [w.dims[0] ?? 1, x.dims[0] ?? 1], {
    attributes: { transB: 1 },
    domain: microsoft,
  })
}

function transposed(graph: Graph, x: Value): Value {
  const dims = [x.dims[1] ?? 1, x.dims[0] ?? 1]
  return graph.operation('Transpose', [x], dims, { attributes: { perm: [1, 0] } })
}

type Attention = (layer: number, query: Value, key: Value, value: Value) => Value

/** All layers over `count` packed tokens. @returns `hidden` [count, hidden] before the last norm */
function decoder(
  graph: Graph,
  a: Architecture,
  { exactThreads, narrowRows }: Products,
  count: string,
  attention: Attention,
): { readonly hidden: Value; readonly embedding: Value } {
  const { hidden_size: hidden, intermediate_size: inner, head_dim: headDim } = a
  const { query, keyValue } = widthsOf(a)
  const ids = graph.input('ids', [count], { type: 'int64' })
  const positions = graph.input('positions', [1, count], { type: 'int64' })
  const cos = graph.input('cos', ['positions', headDim / 2])
  const sin = graph.input('sin', ['positions', headDim / 2])
  const embedding = graph.input('embedding', [a.vocab_size, hidden])
  const columns = <const Sizes extends readonly number[]>(x: Value, ...sizes: Sizes): readonly Value[] =>
    graph.operations(
      'Split',
      [x, graph.integers(...sizes)],
      sizes.map((size) => ({ dims: [count, size] })),
      { attributes: { axis: -1 } },
    )
  const linear = (x: Value, name: string, out: number, width: number): Value => {
    if (isTurned(narrowRows, width))
      return transposed(graph, turnedProduct(graph, x, graph.input(name, [out, width])))
    const blocks = productBlocks(out, width, exactThreads)
    const parts = blocks.length === 1 ? [x] : columns(x, ...blocks)
    let sum: Value | undefined
    for (const [block, part] of parts.entries()) {
      const weight = graph.input(blockInput(name, block, blocks.length), [out, blocks[block] as number])
      const terms = sum === undefined ? [part, weight] : [part, weight, sum]
      sum = graph.operation('Gemm', terms, [count, out], { attributes: { transB: 1 } })
    }
    return sum as Value
  }
  let x = graph.operation('Gather', [embedding, ids], [count, hidden], { attributes: { axis: 0 } })
  for (let layer = 0; layer < a.num_hidden_layers; layer++) {
    const names = layerInputs(layer)
    const normed = norm(graph, a, x, names.inputNorm)
    const projected = linear(normed, names.queryKeyValue, query + 2 * keyValue, hidden)
    const [unrotated, value] = columns(projected, query + keyValue, keyValue) as [Value, Value]
    // Queries and keys rotate together, as heads of one row of `count` tokens.
    const width = query + keyValue
    const asRow = graph.operation('Reshape', [unrotated, graph.integers(1, -1, width)], [1, count, width])
    const rotated = graph.operation('RotaryEmbedding', [asRow, positions, cos, sin], asRow.dims, {
      attributes: { num_heads: width / headDim },
      domain: microsoft,
    })
    const flat = graph.operation('Reshape', [rotated, graph.integers(-1, width)], [count, width])
    const [q, k] = columns(flat, query, keyValue) as [Value, Value]
    const mixed = attention(layer, q, k, value)
    x = graph.operation('Add', [x, linear(mixed, names.attentionOut, hidden, query)], x.dims)
    const middle = norm(graph, a, x, names.feedForwardNorm)
    let down: Value
    if (isTurned(narrowRows, hidden) && isTurned(narrowRows, inner)) {
      const wide = turnedProduct(graph, middle, graph.input(names.gateUp, [2 * inner, hidden]))
      const halves = { dims: [inner, count] }
      const [gate, up] = graph.operations('Split', [wide, graph.integers(inner, inner)], [halves, halves], {
        attributes: { axis: 0 },
      })
      const weight = graph.input(names.down, [hidden, inner])
      down = transposed(graph, graph.operation('MatMul', [weight, opened(graph, gate, up)], [hidden, count]))
    } else {
      const wide = linear(middle, names.gateUp, 2 * inner, hidden)
      const [gate, up] = columns(wide, inner, inner) as [Value, Value]
      down = linear(opened(graph, gate, up), names.down, hidden, inner)
    }
    x = graph.operation('Add', [x, down], x.dims)
  }
  return { hidden: x, embedding }
}

/** silu(gate) · up */
function opened(graph: Graph, gate: Value, up: Value): Value {
  const silu = graph.operation('QuickGelu', [gate], gate.dims, {
    attributes: { alpha: { float: 1 } }, // x·sigmoid(x), which is SiLU
    domain: microsoft,
  })
  return graph.operation('Mul', [silu, up], up.dims)
}

function norm(graph: Graph, a: Architecture, x: Value, name: string): Value {
  const weight = graph.input(name, [a.hidden_size])
  return graph.operation('SimplifiedLayerNormalization', [x, weight], x.dims, {
    attributes: { axis: -1, epsilon: { float: a.rms_norm_eps } },
  })
}

/** Draws a token after each hidden state. Inputs per row: `inverse_temperature`, `uniform`, `greedy` [count, 1]. */
function sample(
  graph: Graph,
  a: Architecture,
  hidden: Value,
  embedding: Value,
  count: string,
  narrowRows?: number,
): void {
  const { vocab_size: vocabulary } = a
  const weight = a.tie_word_embeddings ? embedding : graph.input('head', [vocabulary, a.hidden_size])
  const normed = norm(graph, a, hidden, 'final_norm')
  const logits = isTurned(narrowRows, a.hidden_size)
    ? transposed(graph, turnedProduct(graph, normed, weight))
    : graph.operation('Gemm', [normed, weight], [count, vocabulary], { attributes: { transB: 1 } })
  const column = [count, 1] as const
  const { token, probability } = drawToken(graph, logits, {
    inverseTemperature: graph.input('inverse_temperature', column),
    uniform: graph.input('uniform', column),
    greedy: graph.input('greedy', column, { type: 'bool' }),
  })
  graph.output('token', graph.operation('Cast', [token], column, { attributes: { to: 6 }, type: 'int32' }))
  graph.output('probability', probability)
}
