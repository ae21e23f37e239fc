/**
 * The graph that decodes, one new token for each row, and with constant weights also reads several tokens of one row.
 *
 * Keys and values of earlier tokens lie in the caller's arrays. Those of the new tokens are written beside them.
 *
 * Invariants
 * - A row sees what lies before its length and its new tokens up to each; garbage elsewhere changes nothing.
 * - A row's attention is computed for itself, whatever others there are and however large the arrays.
 */
import { Graph, microsoft, type Value } from '../graph/graph.ts'
import type { Architecture } from './architecture.ts'
import { type Attention, cacheNames, decoder, rotaryInputs, sample, widthsOf } from './sampling-layers.ts'
import type { StoredWeights } from './weight-inputs.ts'

/**
 * A logit beside those of the keys, without weight: with one the runtime does not compute attention in tiles, which takes
 * a fifth to two fifths longer for a single query after 250 tokens.
 */
const noSink = -1e30

/**
 * `time` tokens for each of `rows` rows: one of the two is 1, and without `stored` it is the time.
 *
 * Inputs: `ids` int64 [rows, time]; `lengths` [rows] int32 (tokens before the last one),
 * `capacity` [] int32, `cos` and `sin` [positions, headDim/2], `key.l` and `value.l`
 * [rows, keyValueHeads, capacity, headDim], the weights unless they are `stored`, and the draw's inputs (see `sample`).
 * Outputs, to be written into given arrays: `token` [rows, 1] int32 and `probability` [rows, 1], after the last token;
 * `new_key.l` and `new_value.l`, for which the arrays of `key.l` and `value.l` are to be given: each row's new keys and
 * values are written to their places, and nothing else is touched.
 * @param exactThreads see `productBlocks`
 * @param stored a version's weights as constants, which the runtime lays out again for its products
 */
export function buildDecodeGraph(a: Architecture, exactThreads: number, stored?: StoredWeights): Uint8Array {
  const graph = new Graph()
  graph.returnNothing()
  const { hidden_size: hidden } = a
  const { query, keyValue } = widthsOf(a)
  const products = { exactThreads, stored }
  const ids = graph.input('ids', ['rows', 'time'], { type: 'int64' })
  if (stored !== undefined) {
    const { x, added, embedding } = decoder(graph, a, products, ids, attentionInPlace(graph, a))
    const last = (states: Value): Value =>
      graph.operation('Gather', [states, graph.constant('int64', [], [-1])], ['rows', hidden], {
        attributes: { axis: 1 },
      })
    sample(graph, a, products, { x: last(x), added: last(added) }, embedding, 'rows')
    return graph.encode()
  }
  const attention = attentionInPlace(graph, a)
  const flat = graph.operation('Reshape', [ids, graph.integers(-1)], ['rows'], { type: 'int64' })
  const { x, added, embedding } = decoder(graph, a, products, flat, (layer, projected) => {
    const width = query + 2 * keyValue
    const one = graph.operation('Reshape', [projected, graph.integers(-1, 1, width)], ['rows', 1, width])
    const mixed = attention(layer, one)
    return graph.operation('Reshape', [mixed, graph.integers(-1, query)], ['rows', query])
  })
  sample(graph, a, products, { x, added }, embedding, 'rows')
  return graph.encode()
}

/** Attention over the arrays of `key.l` and `value.l`, rotation included. */
function attentionInPlace(graph: Graph, a: Architecture): Attention {
  const { head_dim: headDim, num_key_value_heads: keyValueHeads, num_attention_heads: heads } = a
  const lengths = graph.input('lengths', ['rows'], { type: 'int32' })
  const capacity = graph.input('capacity', [], { type: 'int32' })
  const { cos, sin } = rotaryInputs(graph, headDim)
  const sink = graph.constant('float32', [heads], new Array<number>(heads).fill(noSink))
  const past = ['rows', keyValueHeads, 'capacity', headDim] as const
  const options = {
    attributes: {
      num_heads: heads,
      kv_num_heads: keyValueHeads,
      do_rotary: 1,
      scale: { float: 1 }, // any other misses the runtime's fast path
    },
    domain: microsoft,
  }
  return (layer, projected) => {
    const names = cacheNames(layer)
    const key = graph.input(names.key, past)
    const value = graph.input(names.value, past)
    // Keys and values are packed with the queries, and positions follow from the lengths.
    const inputs = [projected, undefined, undefined, key, value, lengths, capacity, cos, sin]
    const [mixed, newKey, newValue] = graph.operations(
      'GroupQueryAttention',
      [...inputs, undefined, undefined, sink],
      [{ dims: [...projected.dims.slice(0, -1), heads * headDim] }, { dims: past }, { dims: past }],
      options,
    )
    graph.output(names.newKey, newKey)
    graph.output(names.newValue, newValue)
    return mixed
  }
}
