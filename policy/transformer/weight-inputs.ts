/**
 * Weights in the graphs that sample, and products with them.
 *
 * Invariants
 * - Weights are inputs or constants, in the form that `fuseWeights` gives (the query projection carries the scale).
 * - Where results must be exact, how many rows a step has changes no row's sums, as long as there are two
 *   (see `productBlocks`; with constants the runtime's sums depend on nothing else).
 */
import type { Graph, Value } from '../graph/graph.ts'
import { transposedProduct } from './past-attention.ts'

/** Names of a layer's weights among the inputs. */
export function layerInputs(layer: number) {
  return {
    inputNorm: `input_norm.${layer}`,
    queryKeyValue: `query_key_value.${layer}`,
    queryKeyValueBias: `query_key_value_bias.${layer}`,
    queryNorm: `query_norm.${layer}`,
    keyNorm: `key_norm.${layer}`,
    attentionOut: `attention_out.${layer}`,
    feedForwardNorm: `feed_forward_norm.${layer}`,
    gateUp: `gate_up.${layer}`,
    down: `down.${layer}`,
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

/** A version's weights by the names of the inputs that they replace. */
export type StoredWeights = ReadonlyMap<
  string,
  { readonly dims: readonly number[]; readonly data: Float32Array }
>

/** How products are computed. */
export interface Products {
  readonly exactThreads: number
  readonly stored?: StoredWeights | undefined
}

/** A weight: a constant of the graph, or an input. */
export function weightOf(graph: Graph, { stored }: Products, name: string, dims: readonly number[]): Value {
  if (stored === undefined) return graph.input(name, dims)
  const weight = stored.get(name)
  if (weight === undefined) throw new RangeError(`weight ${name} is not among those to be stored`)
  return graph.stored(name, weight.dims, weight.data)
}

/** Equal rows cut into columns. */
export function columnsOf(graph: Graph, x: Value, ...sizes: readonly number[]): readonly Value[] {
  return graph.operations(
    'Split',
    [x, graph.integers(...sizes)],
    sizes.map((size) => ({ dims: [...x.dims.slice(0, -1), size] })),
    { attributes: { axis: -1 } },
  )
}

/** x·Wᵀ. @param x [..., width], two dimensions where weights are fed @returns [..., out] */
export function product(
  graph: Graph,
  products: Products,
  x: Value,
  name: string,
  out: number,
  width: number,
): Value {
  if (products.stored !== undefined)
    return transposedProduct(graph, x, weightOf(graph, products, name, [out, width]))
  const dims = [x.dims[0] ?? 1, out]
  const blocks = productBlocks(out, width, products.exactThreads)
  const parts = blocks.length === 1 ? [x] : columnsOf(graph, x, ...blocks)
  let sum: Value | undefined
  for (const [block, part] of parts.entries()) {
    const weight = graph.input(blockInput(name, block, blocks.length), [out, blocks[block] as number])
    const terms = sum === undefined ? [part, weight] : [part, weight, sum]
    sum = graph.operation('Gemm', terms, dims, { attributes: { transB: 1 } })
  }
  return sum as Value
}
