/**
 * Causal attention over whole sequences, for training.
 *
 * Queries are cut into blocks, and a block meets only the keys up to its own end: with 4 blocks 62.5 %
 * of the work of the full square remains, with 8 blocks 56 %.
 *
 * Invariants
 * - The number of blocks changes no result beyond rounding.
 * - No query sees a later key: it weighs e^−60 of what is seen at most, which is nothing in single precision.
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

/** Masks of the blocks, shared by every layer's attention and made once per graph. */
export interface CausalMasks {
  /** Block i: [time / blocks, (i + 1) · time / blocks] of `causalLimits`. */
  readonly blocks: readonly Value[]
}

/**
 * Scores at most, relative to a token's score for itself: [time, time], no limit where a key may be seen. A masked score
 * is not lower, because the runtime's softmax would turn it into denormal numbers: the processor takes so much
 * longer for them that all of softmax took three times as long.
 */
export function causalLimits(time: number): Float32Array {
  const limits = new Float32Array(time * time).fill(Number.POSITIVE_INFINITY)
  for (let query = 0; query < time; query++) limits.fill(-60, query * time + query + 1, (query + 1) * time)
  return limits
}

const time = 'time'
const blockTime = 'block_time'

/** The masks of the blocks, from the whole of `causalLimits`. */
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
 * softmax(q · kᵀ / √headDim, masked) · v; each key-value head serves heads / keyValueHeads query heads.
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
  const grouped = (x: Value): Value => {
    if (share === 1) return x
    const columns = x.dims[3] as number
    const target = graph.integers(0, keyValueHeads, -1, columns)
    return graph.operation('Reshape', [x, target], [batch, keyValueHeads, 'shared_queries', columns])
  }
  const ungrouped = (x: Value): Value =>
    share === 1
      ? x
      : graph.operation(
          'Reshape',
          [x, graph.integers(0, heads, -1, headDim)],
          [batch, heads, blockTime, headDim],
        )
  const cut = (x: Value): readonly Value[] =>
    split(graph, x, 2, blocks, [batch, x.dims[1] as Dimension, blockTime, x.dims[3] as Dimension])
  const wide = headDim + 1

  // A column more subtracts a number of each query within the product: [q, c] · [k, −1]ᵀ = q · kᵀ − c. It makes scores
  // relative to the token's own, which changes no probability.
  const keys = cut(k)
  const values = cut(v)
  const wideKeys = cut(withColumnOfMinusOne(graph, k))
  const queries = cut(q)
  const parts = cut(withColumn(graph, q, rowProducts(graph, q, k, shape))).map((wideQuery, index) => {
    const dims = [batch, keyValueHeads, keysOf(index), headDim]
    const wideDims = [batch, keyValueHeads, keysOf(index), wide]
    const scoreDims = [batch, keyValueHeads, 'shared_queries', keysOf(index)]
    const part = {
      query: grouped(queries[index] as Value),
      keys: prefix(graph, keys, index, 2, dims),
      values: prefix(graph, values, index, 2, dims),
    }
    const relative = [grouped(wideQuery), prefix(graph, wideKeys, index, 2, wideDims)] as const
    const scores = multiply(graph, ...relative, scoreDims, { transB: 1, alpha })
    const probabilities = maskedSoftmax(graph, scores, masks.blocks[index] as Value, share)
    const result = multiply(graph, probabilities, part.values, queryDims, {})
    return { ...part, probabilities, result, scoreDims }
  })
  const y = join(
    graph,
    parts.map((part) => ungrouped(part.result)),
    q.dims,
  )

  // With P the probabilities and O = P·V: dV = Pᵀ·dO, dS = P ∘ (dO·Vᵀ − rowsum(dO ∘ O)),
  // dQ = dS·K/√d, dK = dSᵀ·Q/√d (the row sum equals rowsum(dP ∘ P), from a far smaller product, and a column more subtracts it). dV and dK are computed
  // as dOᵀ·P and Qᵀ·dS and turned afterwards: the runtime turns its left factor first, and P and dS are large.
  graph.record([y], [q, k, v], ([gradient]) => {
    const dQueries: Value[] = []
    const dKeys: Value[][] = keys.map(() => [])
    const dValues: Value[][] = keys.map(() => [])
    const given = gradient as Value
    const wideBlocks = cut(
      withColumn(graph, given, rowProducts(graph, given, y, { ...shape, keyValueHeads: heads })),
    )
    const wideValues = cut(withColumnOfMinusOne(graph, v))
    for (const [index, dBlock] of cut(given).entries()) {
      const part = parts[index] as (typeof parts)[number]
      const dResult = grouped(dBlock)
      const wideDims = [batch, keyValueHeads, keysOf(index), wide]
      const relative = [
        grouped(wideBlocks[index] as Value),
        prefix(graph, wideValues, index, 2, wideDims),
      ] as const
      const centred = multiply(graph, ...relative, part.scoreDims, { transB: 1 })
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
    const masked = graph.operation('Min', [scores, mask], scores.dims)
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
  const masked = graph.operation('Min', [spread, mask], wideDims)
  const probabilities = graph.operation('Softmax', [masked], wideDims, softmax)
  const keyCount = graph.operation('Shape', [mask], [1], { attributes: { start: 1 }, type: 'int64' })
  const narrow = graph.operation('Concat', [graph.integers(0, 0, -1), keyCount], [4], {
    attributes: { axis: 0 },
    type: 'int64',
  })
  return graph.operation('Reshape', [probabilities, narrow], scores.dims)
}

/**
 * Σ q ∘ k of every query and the key at its place.
 * @param q [batch, heads, time, headDim]
 * @param k [batch, keyValueHeads, time, headDim]
 * @returns [batch, heads, time, 1]
 */
function rowProducts(
  graph: Graph,
  q: Value,
  k: Value,
  { heads, keyValueHeads, headDim }: AttentionShape,
): Value {
  const [batch, , places] = q.dims as readonly [Dimension, Dimension, Dimension]
  const share = heads / keyValueHeads
  const spread = (x: Value, ofShare: number): Value =>
    share === 1
      ? x
      : graph.operation(
          'Reshape',
          [x, graph.integers(0, keyValueHeads, ofShare, -1, headDim)],
          [batch, keyValueHeads, ofShare, places, headDim],
        )
  const products = graph.operation('Mul', [spread(q, share), spread(k, 1)], spread(q, share).dims)
  const sums = graph.operation(
    'ReduceSum',
    [products, graph.integers(-1)],
    [...products.dims.slice(0, -1), 1],
    {
      attributes: { keepdims: 1 },
    },
  )
  const dims = [batch, heads, places, 1]
  return share === 1 ? sums : graph.operation('Reshape', [sums, graph.integers(0, heads, -1, 1)], dims)
}

/** x [..., headDim] with one more column [..., 1]. */
function withColumn(graph: Graph, x: Value, column: Value): Value {
  const dims = [...x.dims.slice(0, -1), (x.dims.at(-1) as number) + 1]
  return graph.operation('Concat', [x, column], dims, { attributes: { axis: -1 } })
}

function withColumnOfMinusOne(graph: Graph, x: Value): Value {
  const dims = [...x.dims.slice(0, -1), (x.dims.at(-1) as number) + 1]
  return graph.operation('Pad', [x, graph.integers(0, 0, 0, 0, 0, 0, 0, 1), graph.scalar(-1)], dims)
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
