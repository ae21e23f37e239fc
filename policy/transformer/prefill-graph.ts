/**
 * The graph that reads where weights are fed: chunks of several tokens for several rows.
 *
 * It reads keys and values of earlier tokens from the caller's arrays and returns those of the new tokens. Scores over
 * the past and over the new tokens are computed apart and meet in one softmax, so the past is never copied to be
 * extended.
 *
 * Invariants
 * - Places masked out have no influence: garbage there changes nothing.
 * - A token sees itself, so what is raised to `own − 60` weighs e^−60 of what is seen at most: nothing in single
 *   precision.
 */
import { Graph, microsoft, type Value } from '../graph/graph.ts'
import type { Architecture } from './architecture.ts'
import { mixOf, mixValues, ownScores, transposedProduct } from './past-attention.ts'
import { cacheNames, decoder, type Rotations, rotaryInputs, sample, widthsOf } from './sampling-layers.ts'
import { columnsOf } from './weight-inputs.ts'

/** Added to the score of a place that must not be seen; finite, so that idle rows stay free of NaN. */
export const maskedScore = -1e9

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
  const positions = graph.input('positions', [1, 'tokens'], { type: 'int64' })
  const tables = rotaryInputs(graph, headDim)
  const products = { exactThreads }
  const ids = graph.input('ids', ['tokens'], { type: 'int64' })
  const { x, added, embedding } = decoder(graph, a, products, ids, (layer, projected) => {
    const names = cacheNames(layer)
    const [q, k, v] = rotated(graph, a, projected, positions, tables)
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
  const last = (rows: Value): Value =>
    graph.operation('Gather', [rows, selected], ['drawn', a.hidden_size], { attributes: { axis: 0 } })
  sample(graph, a, products, { x: last(x), added: last(added) }, embedding, 'drawn')
  return graph.encode()
}

/** Queries, keys and values of a projection, the first two turned by their positions. */
function rotated(
  graph: Graph,
  a: Architecture,
  projected: Value,
  positions: Value,
  { cos, sin }: Rotations,
): readonly [Value, Value, Value] {
  const { query, keyValue } = widthsOf(a)
  const [count] = projected.dims as readonly [string]
  const width = query + keyValue
  const [unrotated, value] = columnsOf(graph, projected, width, keyValue) as [Value, Value]
  // Queries and keys rotate together, as heads of one row of `count` tokens.
  const asRow = graph.operation('Reshape', [unrotated, graph.integers(1, -1, width)], [1, count, width])
  const turned = graph.operation('RotaryEmbedding', [asRow, positions, cos, sin], asRow.dims, {
    attributes: { num_heads: width / a.head_dim },
    domain: microsoft,
  })
  const flat = graph.operation('Reshape', [turned, graph.integers(-1, width)], [count, width])
  const [q, k] = columnsOf(graph, flat, query, keyValue) as [Value, Value]
  return [q, k, value]
}

/** Far below what single precision adds to 1, and as far above where numbers become denormal. */
const farBelow = -60

/**
 * Scores, none of them far below the token's own.
 * @param scores [..., places], masked
 * @param own [..., 1] the score of the token for itself
 */
function notFarBelow(graph: Graph, scores: Value, own: Value): Value {
  const floor = graph.operation('Add', [own, graph.scalar(farBelow)], own.dims)
  return graph.operation('Max', [scores, floor], scores.dims)
}
