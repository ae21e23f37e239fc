/**
 * Weights by name to and from the tensors of files.
 *
 * Invariants
 * - Every weight that is called for is there in its shape, or the fault names it; on the way to a file there are no others.
 */

import { CheckpointFault } from '../files/checkpoint-fault.ts'
import { asFloat32, type Tensor } from '../files/safetensors.ts'
import { elementCount, type WeightSpec, type Weights } from '../transformer/architecture.ts'

/** Tensors of a file. @param target named in the fault @throws CheckpointFault `foreign` */
export function tensorsOf(
  specs: readonly WeightSpec[],
  weights: Weights,
  prefix: string,
  target: string,
): Map<string, Tensor> {
  const tensors = new Map<string, Tensor>()
  for (const { name, shape } of specs) {
    const data = weights.get(name)
    if (data === undefined)
      throw new CheckpointFault('foreign', `${target}: weight "${prefix}${name}" is missing`)
    tensors.set(prefix + name, { dtype: 'F32', shape, data })
  }
  if (tensors.size !== weights.size)
    throw new CheckpointFault(
      'foreign',
      `${target}: ${weights.size} weights given, the architecture has ${tensors.size}`,
    )
  return tensors
}

/**
 * Weights, as Float32, from the tensors of one or several files.
 * @throws CheckpointFault `foreign` for missing weights, other shapes or integer types
 */
export function weightsFrom(
  specs: readonly WeightSpec[],
  tensors: ReadonlyMap<string, Tensor>,
  file: string,
  prefix = '',
): Map<string, Float32Array> {
  const weights = new Map<string, Float32Array>()
  for (const { name, shape } of specs) {
    const where = `${file}: tensor "${prefix}${name}"`
    const tensor = tensors.get(prefix + name)
    if (tensor === undefined)
      throw new CheckpointFault(
        'foreign',
        `${where} is missing, but the configuration beside it calls for it`,
      )
    if (tensor.data.length !== elementCount(shape) || tensor.shape.join() !== shape.join())
      throw new CheckpointFault(
        'foreign',
        `${where} has shape [${tensor.shape.join(', ')}], the configuration beside it calls for [${shape.join(', ')}]`,
      )
    weights.set(name, asFloat32(tensor, where))
  }
  return weights
}
