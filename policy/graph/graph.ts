/**
 * A graph of tensor operations, built in TypeScript and encoded as an ONNX model.
 *
 * Usage. `input` declares what a run is fed (weights too: as inputs a new policy version needs
 * no new inference session, as `stored` ones it does); `operation` adds one operator and returns its result, `operations` one with several
 * results; `scalar`, `integers` and `constant` store small tensors; `output` names a result; `encode`
 * gives the bytes for `createInferenceSession` of `runtime.ts`. The caller states each result's dimensions: a
 * number, or a name such as 'batch' for a size known only at run time. A matrix of weights lies as
 * `[out, in]` and is applied with `linear` of `operations.ts` (`Gemm` with `transB`). Operators of ONNX Runtime's own
 * (FusedMatMul, RotaryEmbedding, …) take `domain: microsoft`. Gradients: a differentiable operation
 * records how its inputs' gradients follow from its results' (`record`), and `gradients` of
 * `differentiation.ts` walks these records backwards; a graph without `differentiate` records nothing. `repeat` runs
 * an inner graph a number of times that a run is fed.
 *
 *     const graph = new Graph()
 *     const x = graph.input('x', ['rows', 64])
 *     const w = graph.input('w', [32, 64])
 *     const y = graph.operation('Gemm', [x, w], ['rows', 32], { attributes: { transB: 1 } })
 *     graph.output('y', y)
 *     const session = await createInferenceSession(graph.encode(), { threads: 1 })
 *
 * Invariants
 * - Names are made by a counter: the same calls give the same bytes.
 * - Equal constants are stored once.
 * - A name given to an output costs no copy: the operator writes the output itself.
 * - [GRAPH-1] An inner graph that is repeated is given the states of its run before, and sees the values around it.
 */
import { Fault } from '../../faults/fault.ts'
import {
  type Attribute,
  type Dimension,
  type ElementType,
  encodeModel,
  type Model,
  type ModelValue,
  type StoredTensor,
} from './onnx-model.ts'

export type { Attribute, Dimension, ElementType } from './onnx-model.ts'

/** Domain of ONNX Runtime's own operators. */
export const microsoft = 'com.microsoft'

/** A tensor in a graph. */
export interface Value {
  readonly name: string
  readonly type: ElementType
  readonly dims: readonly Dimension[]
  /** True where a gradient can flow to an input declared as `differentiate`. */
  readonly differentiable: boolean
}

/** Type and dimensions of a result. */
export interface ResultSpec {
  readonly dims: readonly Dimension[]
  readonly type?: ElementType | undefined
}

export interface OperationOptions {
  readonly attributes?: Readonly<Record<string, Attribute>> | undefined
  readonly domain?: string | undefined
  /** Element type of the result; float32 where left out. */
  readonly type?: ElementType | undefined
}

/** A gradient with what later uses of the same value had given added to it. */
export interface WholeGradient {
  readonly whole: Value
}

/**
 * Gradients of the inputs from those of the results; `undefined` where there is none.
 * @param results the results' gradients, in order; `undefined` for a result that nothing used
 * @param known what each input's later uses have given so far; an operation that can add it at no cost returns the
 * whole, and otherwise it is added afterwards
 */
export type Backward = (
  results: readonly (Value | undefined)[],
  known: readonly (Value | undefined)[],
) => readonly (Value | WholeGradient | undefined)[]

/** How gradients pass one operation. */
export interface GradientRecord {
  readonly results: readonly Value[]
  readonly inputs: readonly Value[]
  readonly backward: Backward
}

/** A graph was put together wrongly; always a mistake in the code that builds it. */
export class GraphFault extends Fault<'duplicate_name' | 'shape' | 'no_gradient'> {
  override readonly name = 'GraphFault'
}

/** Declares an input of an inner graph: a value of its own or of the graph around it. */
export type InputSource = (
  inner: Graph,
  name: string,
  dims: readonly Dimension[],
  options: InputOptions,
) => Value

interface InputOptions {
  readonly type?: ElementType
  readonly differentiate?: boolean
}

/** First output of a graph whose runs return nothing (see `Graph.returnNothing`). */
export const nothingOutput = 'nothing'

interface Node {
  readonly operator: string
  readonly domain: string
  readonly inputs: readonly (Value | undefined)[]
  readonly results: readonly (Value | undefined)[]
  readonly attributes: Readonly<Record<string, Attribute>>
}

export class Graph {
  readonly #nodes: Node[] = []
  readonly #inputs: Value[] = []
  readonly #outputs = new Map<string, Value>()
  readonly #constants = new Map<string, { readonly value: Value; readonly tensor: StoredTensor }>()
  readonly #records: GradientRecord[] = []
  readonly #differentiable = new Set<string>()
  readonly #source: InputSource | undefined
  /** Begins the names that are made, which an inner graph does not share with the one around it. */
  readonly #prefix: string
  #counter = 0
  #returnsNothing = false

  /** Both arguments are for inner graphs, which `repeat` makes. */
  constructor(prefix = '', source?: InputSource) {
    this.#prefix = prefix
    this.#source = source
  }

  /** Records of differentiable operations in the order in which they were added. */
  get records(): readonly GradientRecord[] {
    return this.#records
  }

  /**
   * Declares what a run is fed.
   * @param options `differentiate`: a gradient is wanted for this input
   * @throws GraphFault the name is taken
   */
  input(name: string, dims: readonly Dimension[], options: InputOptions = {}): Value {
    if (this.#source !== undefined) {
      const { name: found } = this.#source(this, name, dims, options)
      if (options.differentiate) this.#differentiable.add(found)
      return this.#value(found, dims, options.type ?? 'float32')
    }
    if (this.#inputs.some((value) => value.name === name))
      throw new GraphFault('duplicate_name', `the graph has an input "${name}" already`)
    const value = this.#value(name, dims, options.type ?? 'float32')
    if (options.differentiate) this.#differentiable.add(name)
    this.#inputs.push(value)
    return value
  }

  /** Adds an operator with one result. `undefined` leaves an optional input out. */
  operation(
    operator: string,
    inputs: readonly (Value | undefined)[],
    dims: readonly Dimension[],
    options: OperationOptions = {},
  ): Value {
    const [result] = this.operations(operator, inputs, [{ dims, type: options.type }], options)
    return result as Value
  }

  /** Adds an operator with several results; `undefined` leaves an optional result out of the model. */
  operations<const Results extends readonly (ResultSpec | undefined)[]>(
    operator: string,
    inputs: readonly (Value | undefined)[],
    results: Results,
    options: Omit<OperationOptions, 'type'> = {},
  ): { readonly [Index in keyof Results]: Results[Index] extends ResultSpec ? Value : undefined } {
    const values = results.map((spec) =>
      spec === undefined ? undefined : this.#value(this.#name(operator), spec.dims, spec.type ?? 'float32'),
    )
    this.#nodes.push({
      operator,
      domain: options.domain ?? '',
      inputs,
      results: values,
      attributes: options.attributes ?? {},
    })
    return values as never
  }

  /** A number stored in the model, without dimensions. */
  scalar(value: number): Value {
    return this.constant('float32', [], [value])
  }

  /** An int64 vector stored in the model: a shape, axes, indices. */
  integers(...values: readonly number[]): Value {
    return this.constant('int64', [values.length], values)
  }

  /** A small tensor stored in the model, row-major. */
  constant(type: ElementType, dims: readonly number[], values: readonly number[]): Value {
    const key = `${type}[${dims.join()}]${values.join()}`
    const known = this.#constants.get(key)
    if (known !== undefined) return known.value
    const value = this.#value(this.#name('constant'), dims, type)
    this.#constants.set(key, { value, tensor: { name: value.name, type, dims, data: typed(type, values) } })
    return value
  }

  /** A tensor of the model's own that is too large to be compared with others, row-major. @throws GraphFault the name is taken */
  stored(name: string, dims: readonly number[], data: Float32Array): Value {
    if (this.#constants.has(name))
      throw new GraphFault('duplicate_name', `the graph has a tensor "${name}" already`)
    const value = this.#value(name, dims, 'float32')
    this.#constants.set(name, { value, tensor: { name, type: 'float32', dims, data } })
    return value
  }

  /** Runs write into the arrays that they are given and return nothing: `InferenceSession.write` of `runtime.ts`. */
  returnNothing(): void {
    this.#returnsNothing = true
  }

  /** Names a result that a run returns. @throws GraphFault the name is taken */
  output(name: string, value: Value): void {
    if (this.#outputs.has(name))
      throw new GraphFault('duplicate_name', `the graph has an output "${name}" already`)
    this.#outputs.set(name, value)
  }

  /** States how gradients pass an operation; kept only where one of the inputs is differentiable. */
  record(results: readonly Value[], inputs: readonly Value[], backward: Backward): void {
    if (!inputs.some((input) => input.differentiable)) return
    for (const result of results) this.#differentiable.add(result.name)
    this.#records.push({ results, inputs, backward })
  }

  /**
   * Runs an inner graph several times, one after the other.
   * @param count int64 [] how often
   * @param states what the first run is given; their first dimension may change from run to run
   * @param body adds the operations of a run, which may use every value of this graph, and gives the next run's states
   * @param source where the inner graph's inputs come from
   * @returns the states after the last run
   */
  repeat(
    count: Value,
    states: readonly Value[],
    body: (inner: Graph, turn: Value, states: readonly Value[]) => readonly Value[],
    source: InputSource,
  ): readonly Value[] {
    const inner = new Graph(`${this.#name('inner')}_`, source)
    const turn = inner.#value(inner.#name('turn'), [], 'int64')
    const goesOn = inner.#value(inner.#name('goes_on'), [], 'bool')
    const given = states.map(({ dims, type }) => inner.#value(inner.#name('state'), dims, type))
    inner.#inputs.push(turn, goesOn, ...given)
    const next = body(inner, turn, given)
    inner.output(inner.#name('goes_on_after'), goesOn)
    for (const value of next) inner.output(inner.#name('state_after'), value)
    const results = states.map(({ dims, type }) => ({ dims, type }))
    return this.operations('Loop', [count, undefined, ...states], results, {
      attributes: { body: { graph: inner.#model() } },
    }) as readonly Value[]
  }

  /** The bytes of the ONNX model. */
  encode(): Uint8Array {
    return encodeModel(this.#model())
  }

  #model(): Model {
    const renamed = new Map<string, string>()
    const copies: Node[] = []
    const producible = new Set(this.#nodes.flatMap((node) => node.results.map((result) => result?.name)))
    for (const [name, value] of this.#outputs) {
      if (producible.has(value.name) && !renamed.has(value.name)) renamed.set(value.name, name)
      else {
        // An input, a constant or a value with two names: only a copy can carry the second name.
        const results = [this.#value(name, value.dims, value.type)]
        copies.push({ operator: 'Identity', domain: '', inputs: [value], results, attributes: {} })
      }
    }
    const nothing: ModelValue[] = []
    if (this.#returnsNothing) {
      nothing.push({ name: nothingOutput, type: 'float32', dims: [], sequence: true })
      const results = [this.#value(nothingOutput, [], 'float32')]
      copies.push({ operator: 'SequenceEmpty', domain: '', inputs: [], results, attributes: {} })
    }
    const nameOf = (value: Value | undefined): string =>
      value === undefined ? '' : (renamed.get(value.name) ?? value.name)
    return {
      nodes: [...this.#nodes, ...copies].map((node) => ({
        operator: node.operator,
        domain: node.domain,
        inputs: node.inputs.map(nameOf),
        outputs: node.results.map(nameOf),
        attributes: node.attributes,
      })),
      inputs: this.#inputs,
      outputs: [
        ...nothing,
        ...[...this.#outputs].map(([name, value]) => ({ name, type: value.type, dims: value.dims })),
      ],
      tensors: [...this.#constants.values()].map(({ tensor }) => tensor),
    }
  }

  #name(kind: string): string {
    return `${this.#prefix}${kind}_${this.#counter++}`
  }

  #value(name: string, dims: readonly Dimension[], type: ElementType): Value {
    const differentiable = this.#differentiable
    return {
      name,
      type,
      dims,
      get differentiable() {
        return differentiable.has(name)
      },
    }
  }
}

function typed(type: ElementType, values: readonly number[]): StoredTensor['data'] {
  switch (type) {
    case 'float32':
      return Float32Array.from(values)
    case 'int32':
      return Int32Array.from(values)
    case 'int64':
      return BigInt64Array.from(values, BigInt)
    case 'uint8':
    case 'bool':
      return Uint8Array.from(values)
  }
}
