/**
 * The graph that decodes: one new token for each row.
 *
 * Keys and values of earlier tokens lie in the caller's arrays. Those of the new tokens are written beside them.
 *
 * Invariants
 * - A row sees what lies before its length and its new token; garbage elsewhere changes nothing.
 * - A row's attention is computed for itself, whatever others there are and however large the arrays.
 */
import { Graph, microsoft } from '../graph/graph.ts'
import type { Architecture } from './architecture.ts'
import { cacheNames, decoder, rotaryInputs, sample, widthsOf } from './sampling-layers.ts'
import type { StoredWeights } from './weight-inputs.ts'

/**
 * A logit beside those of the keys, without weight: with one the runtime does not compute attention in tiles, which takes
 * a fifth to two fifths longer for a single query after 250 tokens.
 */
const noSink = -1e30

/**
 * One token for each of `rows` rows.
 *
 * Inputs: `ids` [rows] int64, `lengths` [rows] int32 (tokens before the new one), `capacity` [] int32, `cos` and `sin`
 * [positions, headDim/2], `key.l` and `value.l` [rows, keyValueHeads, capacity, headDim], the weights unless they
 * are `stored`, and the draw's inputs (see `sample`).
 * Outputs, to be written into given arrays: `token` [rows, 1] int32, `probability` [rows, 1], and `new_key.l` and
 * `new_value.l`, for which the arrays of `key.l` and `value.l` are to be given: each row's new key and value are
 * written to their place, and nothing else is touched.
 * @param exactThreads see `productBlocks`
 * @param stored a version's weights as constants, which the runtime lays out anew for its products
 */
export function buildDecodeGraph(a: Architecture, exactThreads: number, stored?: StoredWeights): Uint8Array {
  const graph = new Graph()
  graph.returnNothing()
  const { head_dim: headDim, num_key_value_heads: keyValueHeads } = a
  const { query, keyValue } = widthsOf(a)
  const lengths = graph.input('lengths', ['rows'], { type: 'int32' })
  const capacity = graph.input('capacity', [], { type: 'int32' })
  const tables = rotaryInputs(graph, headDim)
  const heads = a.num_attention_heads
  const sink = graph.constant('float32', [heads], new Array<number>(heads).fill(noSink))
  const products = { exactThreads, stored }
  const { x, added, embedding } = decoder(graph, a, products, 'rows', (layer, projected) => {
    const names = cacheNames(layer)
    const width = query + 2 * keyValue
    const one = graph.operation('Reshape', [projected, graph.integers(-1, 1, width)], ['rows', 1, width])
    const past = ['rows', keyValueHeads, 'capacity', headDim] as const
    const [mixed, newKey, newValue] = graph.operations(
      'GroupQueryAttention',
      [
        one,
        undefined,
        undefined,
        graph.input(names.key, past),
        graph.input(names.value, past),
        lengths,
        capacity,
        tables.cos,
        tables.sin,
        undefined, // positions follow from the lengths
        undefined,
        sink,
      ],
      [{ dims: ['rows', 1, query] }, { dims: past }, { dims: past }],
      {
        attributes: {
          num_heads: heads,
          kv_num_heads: keyValueHeads,
          do_rotary: 1,
          scale: { float: 1 }, // any other misses the runtime's fast path
        },
        domain: microsoft,
      },
    )
    graph.output(names.newKey, newKey)
    graph.output(names.newValue, newValue)
    return graph.operation('Reshape', [mixed, graph.integers(-1, query)], ['rows', query])
  })
  sample(graph, a, products, { x, added }, embedding, 'rows')
  return graph.encode()
}
