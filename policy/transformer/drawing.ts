/**
 * Drawing a token in the graph.
 *
 * With p = softmax(logits / T) and c its cumulative sum, the token is the first i with cᵢ > u·c_last; where `greedy`
 * is set it is the most likely one, the first of equals.
 *
 * The runtime adds up and compares one number after the other, so a large vocabulary is cut into blocks: first the
 * block is found by the blocks' sums, then the place in it.
 *
 * Invariants
 * - A row's token depends on its own logits, temperature and uniform, and on nothing else.
 * - A token of probability zero is never drawn, whatever is rounded on the way.
 * - The probability is that at the row's temperature; it leaves without its logarithm, because the runtime's differs
 *   in the last bit by the row's place.
 */
import type { Dimension, Graph, Value } from '../graph/graph.ts'

/** Up to this size a vocabulary is searched as a whole: the steps that blocks take cost more. */
const wholeVocabulary = 1024
/** The logit of places beyond the vocabulary: their probability is zero at any temperature. */
const nowhere = -1e30
/** Any c times this is below c in single precision. */
const justBelowOne = 1 - 2 ** -23

/** The inputs of rows' draws, each [count, 1]. */
export interface DrawInputs {
  readonly inverseTemperature: Value
  /** In [0, 1). */
  readonly uniform: Value
  readonly greedy: Value
}

/**
 * @param logits [count, vocabulary]
 * @returns `token` int64 and `probability`, each [count, 1]
 */
export function drawToken(
  graph: Graph,
  logits: Value,
  draw: DrawInputs,
): { readonly token: Value; readonly probability: Value } {
  const [count, vocabulary] = logits.dims as readonly [Dimension, number]
  const width = vocabulary > wholeVocabulary ? Math.ceil(Math.sqrt(vocabulary)) : vocabulary
  const search = new Search(graph, count, Math.ceil(vocabulary / width), width)
  const padded = search.padded(logits, vocabulary)
  const scaled = graph.operation('Mul', [padded, draw.inverseTemperature], padded.dims)
  const probabilities = graph.operation('Softmax', [scaled], padded.dims, { attributes: { axis: -1 } })
  const token = graph.operation(
    'Where',
    [draw.greedy, search.likeliest(padded), search.drawn(probabilities, draw.uniform)],
    search.column,
    { type: 'int64' },
  )
  const probability = graph.operation('GatherElements', [probabilities, token], search.column, {
    attributes: { axis: 1 },
  })
  return { token, probability }
}

/** The search through `blocks` blocks of `width` places for each of `count` rows. */
class Search {
  readonly #graph: Graph
  readonly #count: Dimension
  readonly #blocks: number
  readonly #width: number
  readonly column: readonly [Dimension, 1]

  constructor(graph: Graph, count: Dimension, blocks: number, width: number) {
    this.#graph = graph
    this.#count = count
    this.#blocks = blocks
    this.#width = width
    this.column = [count, 1]
  }

  /** Logits of whole blocks. */
  padded(logits: Value, vocabulary: number): Value {
    const places = this.#blocks * this.#width
    if (places === vocabulary) return logits
    const pads = this.#graph.integers(0, 0, 0, places - vocabulary)
    return this.#graph.operation('Pad', [logits, pads, this.#graph.scalar(nowhere)], [this.#count, places])
  }

  /** The first of the largest. @param logits [count, blocks·width] */
  likeliest(logits: Value): Value {
    if (this.#blocks === 1) return this.#largest(logits)
    const cut = this.#cut(logits)
    const tops = this.#graph.operation('ReduceMax', [cut, this.#graph.integers(2)], this.#ofBlocks, {
      attributes: { keepdims: 0 },
    })
    const block = this.#largest(tops)
    return this.#place(block, this.#largest(this.#blockOf(cut, block)))
  }

  /** @param probabilities [count, blocks·width] */
  drawn(probabilities: Value, uniform: Value): Value {
    const graph = this.#graph
    if (this.#blocks === 1) {
      const cumulative = this.#cumulative(probabilities)
      return this.#firstAbove(
        cumulative,
        graph.operation('Mul', [uniform, this.#last(cumulative)], this.column),
      )
    }
    const cut = this.#cut(probabilities)
    const sums = graph.operation('ReduceSum', [cut, graph.integers(2)], this.#ofBlocks, {
      attributes: { keepdims: 0 },
    })
    const cumulative = this.#cumulative(sums)
    const sought = graph.operation('Mul', [uniform, this.#last(cumulative)], this.column)
    const block = this.#firstAbove(cumulative, sought)
    const before = graph.operation('GatherElements', [this.#cumulative(sums, 1), block], this.column, {
      attributes: { axis: 1 },
    })
    const within = this.#cumulative(this.#blockOf(cut, block))
    // The block's sum may be rounded otherwise than its terms added up: the last term that counts is the bound.
    const bound = graph.operation('Mul', [this.#last(within), graph.scalar(justBelowOne)], this.column)
    const rest = graph.operation('Sub', [sought, before], this.column)
    return this.#place(block, this.#firstAbove(within, graph.operation('Min', [rest, bound], this.column)))
  }

  get #ofBlocks(): readonly Dimension[] {
    return [this.#count, this.#blocks]
  }

  /** [count, blocks·width] as [count, blocks, width]. */
  #cut(x: Value): Value {
    const shape = this.#graph.integers(-1, this.#blocks, this.#width)
    return this.#graph.operation('Reshape', [x, shape], [this.#count, this.#blocks, this.#width])
  }

  /** One block of each row, [count, width]. */
  #blockOf(cut: Value, block: Value): Value {
    return this.#graph.operation('GatherND', [cut, block], [this.#count, this.#width], {
      attributes: { batch_dims: 1 },
    })
  }

  #place(block: Value, inside: Value): Value {
    const width = this.#graph.constant('int64', [1, 1], [this.#width])
    const start = this.#graph.operation('Mul', [block, width], this.column, { type: 'int64' })
    return this.#graph.operation('Add', [start, inside], this.column, { type: 'int64' })
  }

  #largest(x: Value): Value {
    return this.#graph.operation('ArgMax', [x], this.column, {
      attributes: { axis: 1, keepdims: 1 },
      type: 'int64',
    })
  }

  #cumulative(x: Value, exclusive: 0 | 1 = 0): Value {
    const axis = this.#graph.constant('int64', [], [1])
    return this.#graph.operation('CumSum', [x, axis], x.dims, { attributes: { exclusive } })
  }

  #last(x: Value): Value {
    const place = this.#graph.integers((x.dims[1] as number) - 1)
    return this.#graph.operation('Gather', [x, place], this.column, { attributes: { axis: 1 } })
  }

  /** How many of a rising row are not above the bound: the place of the first that is. */
  #firstAbove(rising: Value, bound: Value): Value {
    const graph = this.#graph
    const below = graph.operation('LessOrEqual', [rising, bound], rising.dims, { type: 'bool' })
    const ones = graph.operation('Cast', [below], rising.dims, { attributes: { to: 1 } })
    const counted = graph.operation('ReduceSum', [ones, graph.integers(1)], this.column, {
      attributes: { keepdims: 1 },
    })
    return graph.operation('Cast', [counted], this.column, { attributes: { to: 7 }, type: 'int64' })
  }
}
