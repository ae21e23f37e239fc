/**
 * Running graphs: the one module that imports onnxruntime-node.
 *
 * Invariants
 * - An inference session is a function of its feeds: the same feeds and thread count give the same bytes.
 * - An output given as a tensor is written in place, and still copied: the binding (1.30) copies every
 *   output into a new array, given or not. So large results cost, and graphs should return little, or nothing: of a
 *   graph whose first output is none that the binding can copy, it copies none, once all are written.
 *
 * `run` computes on the calling thread and returns when the result is there: callers that must stay
 * responsive run it in a worker thread.
 */
import { Fault } from '../../faults/fault.ts'
import './telemetry.ts'
import { InferenceSession as RuntimeSession, Tensor as RuntimeTensor } from 'onnxruntime-node'
import { reasonOf } from '../../faults/reason.ts'
import type { ElementType } from './onnx-model.ts'

/** Typed array of each element type. */
export interface TensorData {
  readonly float32: Float32Array
  readonly int32: Int32Array
  readonly int64: BigInt64Array
  readonly uint8: Uint8Array
  readonly bool: Uint8Array
}

/** Data with dimensions, row-major; shares the array it was made from. */
export interface Tensor<Type extends ElementType = ElementType> {
  readonly type: Type
  readonly dims: readonly number[]
  readonly data: TensorData[Type]
}

/** The runtime refused a model or a run. */
export class RuntimeFault extends Fault<'model' | 'run'> {
  override readonly name = 'RuntimeFault'
}

export interface InferenceOptions {
  /** Threads of one run; the count can change results in the last bits, so it is configuration. */
  readonly threads: number
  /**
   * How long a thread that waits for another one of its run spins before it sleeps; the runtime's own
   * choice where left out. On cores shared with other work a long spin burns what the other thread needs.
   */
  readonly spinMicroseconds?: number
}

/** A loaded graph. */
export interface InferenceSession {
  readonly inputNames: readonly string[]
  readonly outputNames: readonly string[]
  /**
   * Computes the outputs.
   * @param outputs names wanted, or tensors to write into (their dims must be the result's); all when left out
   * @throws RuntimeFault
   */
  run(
    feeds: Readonly<Record<string, Tensor>>,
    outputs?: readonly string[] | Readonly<Record<string, Tensor | null>>,
  ): Promise<Readonly<Record<string, Tensor>>>
  /**
   * Computes a graph that returns nothing (`Graph.returnNothing`): its outputs are written into the given tensors.
   * One may be a tensor that is fed as well, where the operator that writes it works in place.
   * @throws RuntimeFault
   */
  write(
    feeds: Readonly<Record<string, Tensor>>,
    outputs: Readonly<Record<string, Tensor | null>>,
  ): Promise<void>
  /** Frees the native memory. */
  release(): Promise<void>
}

/** The binding's message when a run is done and the first output is none that it can return. */
const notReturned = 'Non tensor type'

/** A tensor over the given array, which the runtime reads (or writes, as an output) in place. */
export function tensor<Type extends ElementType>(
  type: Type,
  data: TensorData[Type],
  dims: readonly number[],
): Tensor<Type> {
  return new RuntimeTensor(type, data as Float32Array, dims) as unknown as Tensor<Type>
}

/** @throws RuntimeFault when the runtime cannot load the model */
export async function createInferenceSession(
  model: Uint8Array,
  options: InferenceOptions,
): Promise<InferenceSession> {
  const spinning =
    options.spinMicroseconds === undefined
      ? {}
      : { intra_op: { spin_duration_us: String(options.spinMicroseconds) } }
  let session: RuntimeSession
  try {
    session = await RuntimeSession.create(model, {
      intraOpNumThreads: options.threads,
      interOpNumThreads: 1,
      graphOptimizationLevel: 'all',
      logSeverityLevel: 4, // what fails is thrown as well, and the optimizer's warnings help no user
      // Without it the pool's threads of an idle session burn the cores that the next session needs.
      extra: { session: { force_spinning_stop: '1', ...spinning } },
    })
  } catch (cause) {
    throw new RuntimeFault('model', `the graph could not be loaded: ${reasonOf(cause)}`, { cause })
  }
  return {
    inputNames: session.inputNames,
    outputNames: session.outputNames,
    async run(feeds, outputs) {
      try {
        const given = feeds as unknown as RuntimeSession.FeedsType
        const results =
          outputs === undefined
            ? await session.run(given)
            : await session.run(given, outputs as unknown as RuntimeSession.FetchesType)
        return results as unknown as Readonly<Record<string, Tensor>>
      } catch (cause) {
        throw new RuntimeFault('run', `the graph could not be run: ${reasonOf(cause)}`, { cause })
      }
    },
    async write(feeds, outputs) {
      try {
        await session.run(
          feeds as unknown as RuntimeSession.FeedsType,
          outputs as unknown as RuntimeSession.FetchesType,
        )
      } catch (cause) {
        if (reasonOf(cause).includes(notReturned)) return
        throw new RuntimeFault('run', `the graph could not be run: ${reasonOf(cause)}`, { cause })
      }
    },
    release: () => session.release(),
  }
}
