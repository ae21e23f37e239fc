/**
 * The graph of an objective over several micro-batches, one after the other, whose gradients it adds up.
 *
 * The outputs of a run are copied, and the gradients of all weights are large beside a micro-batch: so a run computes as
 * many micro-batches as it is fed, and continues the sums that it is fed.
 *
 *     tokens   | micro-batch 0: batch · time | 1 | 2 …   cut at `token_starts`
 *     rows, …  | its counted tokens | 1 | 2 …            cut at `row_starts`
 *
 * Invariants
 * - [JOINED-1] Several micro-batches give the results and the sum of gradients that runs with one each give, to the byte.
 * - An inner value has the name and the dimensions that `objective` gives it for one micro-batch.
 */
import { type Dimension, Graph, type InputSource, type Value } from '../graph/graph.ts'
import { type Architecture, weightSpecs } from './architecture.ts'
import { forward } from './forward.ts'
import { embeddedGradientName, type GraphKind, gradientName, objective } from './objective-graph.ts'

/** Name of the input with what a weight's gradients are added to. */
export function sumName(weight: string): string {
  return `sum.${weight}`
}

/**
 * The ONNX bytes of a graph. Its inputs are those of `objectiveGraph`, those of one number per token or row joined over
 * the micro-batches, `mask` and the tables for the longest of them; `micro_batches` [] int64, `times` [micro-batches]
 * int64, `token_starts` and `row_starts` [micro-batches + 1] int64; and unless the kind has no gradients `sum.WEIGHT` for
 * each weight. Its outputs are those of `objectiveGraph`, joined; a weight's gradient has its sum in it. The kind `hidden` reads no targets, and
 * has the output `hidden` [rows, width] alone.
 */
export function microBatchGraph(architecture: Architecture, kind: GraphKind, blocks: number): Uint8Array {
  const graph = new Graph()
  const count = graph.input('micro_batches', [], { type: 'int64' })
  const times = graph.input('times', ['micro_batches'], { type: 'int64' })
  const tokenStarts = graph.input('token_starts', ['starts'], { type: 'int64' })
  const rowStarts = graph.input('row_starts', ['starts'], { type: 'int64' })
  const width = architecture.hidden_size
  const hasGradients = kind !== 'logprobs' && kind !== 'hidden'
  const summed = hasGradients ? weightSpecs(architecture) : []
  const sums = summed.map(({ name, shape }) => graph.input(sumName(name), shape))
  const rows = graph.constant('float32', [0], [])
  const wide = graph.constant('float32', [0, width], [])
  const joined = kind === 'hidden' ? [wide] : hasGradients ? [rows, rows, wide] : [rows, rows]
  let cuts: Cuts | undefined
  const source: InputSource = (inner, name, dims, { type }) =>
    cutOf(cuts as Cuts, inner, name, dims, (outerDims) => graph.input(name, outerDims, type ? { type } : {}))
  const results = graph.repeat(
    count,
    [...joined, ...sums],
    (inner, turn, states) => {
      cuts = {
        time: inner.operation(
          'Gather',
          [times, inner.operation('Unsqueeze', [turn, inner.integers(0)], [1], int64)],
          [1],
          int64,
        ),
        tokens: bounds(inner, tokenStarts, turn),
        rows: bounds(inner, rowStarts, turn),
      }
      const join = (part: Value, at: number): Value =>
        inner.operation('Concat', [states[at], part], part.dims, { attributes: { axis: 0 } })
      if (kind === 'hidden') return [join(forward(inner, architecture, false, blocks).hidden, 0)]
      const begun = new Map(summed.map(({ name }, at) => [name, states[joined.length + at] as Value]))
      const found = objective(inner, architecture, kind, blocks, begun)
      const parts = [found.logprobs, found.entropy, ...(found.embedded === undefined ? [] : [found.embedded])]
      return [
        ...parts.map(join),
        ...summed.map(({ name }) => found.gradients.get(name) ?? (begun.get(name) as Value)),
      ]
    },
    source,
  )
  const names =
    kind === 'hidden' ? ['hidden'] : ['logprobs', 'entropy', ...(hasGradients ? [embeddedGradientName] : [])]
  for (const [at, name] of [...names, ...summed.map(({ name }) => gradientName(name))].entries())
    graph.output(name, results[at] as Value)
  return graph.encode()
}

const int64 = { type: 'int64' } as const

/** Where a micro-batch begins and ends in the joined inputs, [1] each, and its time [1]. */
interface Cuts {
  readonly time: Value
  readonly tokens: readonly [Value, Value]
  readonly rows: readonly [Value, Value]
}

function bounds(inner: Graph, starts: Value, turn: Value): readonly [Value, Value] {
  const at = inner.operation('Unsqueeze', [turn, inner.integers(0)], [1], int64)
  const next = inner.operation('Add', [at, inner.integers(1)], [1], int64)
  return [
    inner.operation('Gather', [starts, at], [1], int64),
    inner.operation('Gather', [starts, next], [1], int64),
  ]
}

/** A micro-batch's part of an input. @param declare makes the outer graph's input */
function cutOf(
  { time, tokens, rows }: Cuts,
  inner: Graph,
  name: string,
  dims: readonly Dimension[],
  declare: (dims: readonly Dimension[]) => Value,
): Value {
  if (name === 'tokens') {
    const own = inner.operation('Slice', [declare(['all_tokens']), ...tokens], ['tokens'], int64)
    const shape = inner.operation('Concat', [inner.integers(-1), time], [2], {
      ...int64,
      attributes: { axis: 0 },
    })
    return inner.operation('Reshape', [own, shape], dims, int64)
  }
  if (name === 'mask') {
    const end = inner.operation('Concat', [time, time], [2], { ...int64, attributes: { axis: 0 } })
    return inner.operation('Slice', [declare(['longest', 'longest']), inner.integers(0, 0), end], dims)
  }
  if (dims[0] !== 'rows') return declare(dims)
  const whole = declare(['all_rows'])
  return inner.operation('Slice', [whole, ...rows], dims, { type: whole.type })
}
