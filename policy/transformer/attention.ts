/**
 * Causal attention over whole sequences, for training.
 *
 * Queries are cut into blocks, and a block meets only the keys up to its own end: with 4 blocks 62.5 %
 * of the work of the full square remains, with 8 blocks 56 %.
 *
 * Invariants
 * - The number of blocks changes no result beyond rounding.
 * - No query sees a later key.
 */
import { type Dimension, type Graph, microsoft, type Value } from '../graph/graph.ts'

/** How heads share keys, and into how many blocks the queries are cut. */
export interface AttentionShape {
  readonly heads: number
  readonly keyValueHeads: number
  readonly headDim: number
  /** Must divide every time that is run. */
  readonly blocks: number
}

/** What every layer's attention shares: masks of the blocks, made once per graph. */
export interface CausalMasks {
  /** Block i: [time / blocks, (i + 1) · time / blocks], 0 where a key may be seen, else very negative. */
  readonly blocks: readonly Value[]
}

const time = 'time'
const blockTime = 'block_time'

/** The masks of the blocks, from the whole mask [time, time]. */
export function causalMasks(graph: Graph, mask: Value, blocks: number): CausalMasks {
  if (blocks === 1) return { blocks: [mask] }
  const rows = split(graph, mask, 0, blocks, [blockTime, time])
  return {
    blocks: rows.map((row, index) =>
      prefix(graph, split(graph, row, 1, blocks, [blockTime, blockTime]), index, 1, [
        blockTime,
        keysOf(index),
      ]),
    ),
  }
}

/**
 * softmax(q · kᵀ / √headDim + mask) · v; each key-value head serves heads / keyValueHeads query heads.
 * @param q [batch, heads, time, headDim]
 * @param k [batch, keyValueHeads, time, headDim]
 * @param v [batch, keyValueHeads, time, headDim]
 * @returns [batch, heads, time, headDim]
 */
export function attention(
  graph: Graph,
  q: Value,
  k: Value,
  v: Value,
  masks: CausalMasks,
  shape: AttentionShape,
): Value {
  const { heads, keyValueHeads, headDim, blocks } = shape
  const [batch] = q.dims as readonly [Dimension]
  const alpha = 1 / Math.sqrt(headDim)
  const share = heads / keyValueHeads
  const queryDims = [batch, keyValueHeads, 'shared_queries', headDim]
  const grouped = (x: Value): Value =>
    share === 1
      ? x
      : graph.operation('Reshape', [x, graph.integers(0, keyValueHeads, -1, headDim)], queryDims)
  const ungrouped = (x: Value): Value =>
    share === 1
      ? x
      : graph.operation(
          'Reshape',
          [x, graph.integers(0, heads, -1, headDim)],
          [batch, heads, blockTime, headDim],
        )
  const cut = (x: Value): readonly Value[] =>
    split(graph, x, 2, blocks, [batch, x.dims[1] as Dimension, blockTime, headDim])

  const keys = cut(k)
  const values = cut(v)
  const parts = cut(q).map((query, index) => {
    const dims = [batch, keyValueHeads, keysOf(index), headDim]
    const scoreDims = [batch, keyValueHeads, 'shared_queries', keysOf(index)]
    const part = {
      query: grouped(query),
      keys: prefix(graph, keys, index, 2, dims),
      values: prefix(graph, values, index, 2, dims),
    }
    const scores = multiply(graph, part.query, part.keys, scoreDims, { transB: 1, alpha })
    const probabilities = maskedSoftmax(graph, scores, masks.blocks[index] as Value, share)
    const result = multiply(graph, probabilities, part.values, queryDims, {})
    return { ...part, probabilities, result, dims, scoreDims }
  })
  const y = join(
    graph,
    parts.map((part) => ungrouped(part.result)),
    q.dims,
  )

  // With P the probabilities and O = P·V: dV = Pᵀ·dO, dS = P ∘ (dO·Vᵀ − rowsum(dO ∘ O)),
  // dQ = dS·K/√d, dK = dSᵀ·Q/√d (the row sum equals rowsum(dP ∘ P), from a far smaller product). dV and dK are computed
  // as dOᵀ·P and Qᵀ·dS and turned afterwards: the runtime turns its left factor first, and P and dS are large.
  graph.record([y], [q, k, v], ([gradient]) => {
    const dQueries: Value[] = []
    const dKeys: Value[][] = keys.map(() => [])
    const dValues: Value[][] = keys.map(() => [])
    for (const [index, dBlock] of cut(gradient as Value).entries()) {
      const part = parts[index] as (typeof parts)[number]
      const dResult = grouped(dBlock)
      const product = graph.operation('Mul', [dResult, part.result], queryDims)
      const rowSum = graph.operation(
        'ReduceSum',
        [product, graph.integers(-1)],
        [batch, keyValueHeads, 'shared_queries', 1],
        { attributes: { keepdims: 1 } },
      )
      const dProbabilities = multiply(graph, dResult, part.values, part.scoreDims, { transB: 1 })
      const centred = graph.operation('Sub', [dProbabilities, rowSum], part.scoreDims)
      const dScores = graph.operation('Mul', [centred, part.probabilities], part.scoreDims)
      dQueries.push(ungrouped(multiply(graph, dScores, part.keys, queryDims, { alpha })))
      const dims = [batch, keyValueHeads, headDim, keysOf(index)]
      const dPartKeys = multiply(graph, part.query, dScores, dims, { transA: 1, alpha })
      const dPartValues = multiply(graph, dResult, part.probabilities, dims, { transA: 1 })
      const blockDims = [batch, keyValueHeads, headDim, blockTime]
      for (const [block, piece] of split(graph, dPartKeys, 3, index + 1, blockDims).entries())
        dKeys[block]?.push(piece)
      for (const [block, piece] of split(graph, dPartValues, 3, index + 1, blockDims).entries())
        dValues[block]?.push(piece)
    }
    const turned = (pieces: readonly (readonly Value[])[], { dims }: Value): Value => {
      const sums = pieces.map((ofBlock) => sum(graph, ofBlock))
      const whole = join(graph, sums, [batch, keyValueHeads, headDim, time], 3)
      return graph.operation('Transpose', [whole], dims, { attributes: { perm: [0, 1, 3, 2] } })
    }
    return [join(graph, dQueries, q.dims), turned(dKeys, k), turned(dValues, v)]
  })
  return y
}

function maskedSoftmax(graph: Graph, scores: Value, mask: Value, share: number): Value {
  const softmax = { attributes: { axis: -1 } }
  if (share === 1) {
    const masked = graph.operation('Add', [scores, mask], scores.dims)
    return graph.operation('Softmax', [masked], scores.dims, softmax)
  }
  const [batch, keyValueHeads, , keys] = scores.dims as readonly [Dimension, Dimension, Dimension, Dimension]
  const size = graph.operation('Shape', [mask], [2], { type: 'int64' })
  const wide = graph.operation('Concat', [graph.integers(0, 0, share), size], [5], {
    attributes: { axis: 0 },
    type: 'int64',
  })
  const wideDims = [batch, keyValueHeads, share, blockTime, keys]
  const spread = graph.operation('Reshape', [scores, wide], wideDims)
  const masked = graph.operation('Add', [spread, mask], wideDims)
  const probabilities = graph.operation('Softmax', [masked], wideDims, softmax)
  const keyCount = graph.operation('Shape', [mask], [1], { attributes: { start: 1 }, type: 'int64' })
  const narrow = graph.operation('Concat', [graph.integers(0, 0, -1), keyCount], [4], {
    attributes: { axis: 0 },
    type: 'int64',
  })
  return graph.operation('Reshape', [probabilities, narrow], scores.dims)
}

function keysOf(block: number): string {
  return `keys_${block + 1}`
}

function multiply(
  graph: Graph,
  a: Value,
  b: Value,
  dims: readonly Dimension[],
  { transA = 0, transB = 0, alpha = 1 }: { transA?: number; transB?: number; alpha?: number },
): Value {
  return graph.operation('FusedMatMul', [a, b], dims, {
    attributes: { transA, transB, alpha: { float: alpha } },
    domain: microsoft,
  })
}

/** Equal parts of x along an axis. */
function split(
  graph: Graph,
  x: Value,
  axis: number,
  parts: number,
  dims: readonly Dimension[],
): readonly Value[] {
  if (parts === 1) return [x]
  return graph.operations(
    'Split',
    [x],
    Array.from({ length: parts }, () => ({ dims })),
    { attributes: { axis, num_outputs: parts } },
  )
}

/** Parts 0 … last, one after the other along an axis. */
function prefix(
  graph: Graph,
  parts: readonly Value[],
  last: number,
  axis: number,
  dims: readonly Dimension[],
): Value {
  if (last === 0) return parts[0] as Value
  return graph.operation('Concat', parts.slice(0, last + 1), dims, { attributes: { axis } })
}

function join(graph: Graph, parts: readonly Value[], dims: readonly Dimension[], axis = 2): Value {
  if (parts.length === 1) return parts[0] as Value
  return graph.operation('Concat', parts, dims, { attributes: { axis } })
}

function sum(graph: Graph, values: readonly Value[]): Value {
  return values.reduce((total, value) => graph.operation('Add', [total, value], total.dims))
}
