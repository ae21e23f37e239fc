/**
 * The file of an update's batch, as `batch.ts` describes it.
 *
 * Invariants
 * - A batch that is read satisfies its own rules (lengths, offsets, mask, finite numbers), or it is refused.
 * - The same batch gives the same bytes.
 */
import { dirname } from 'node:path'
import { removeAbandoned } from '../../machine/processes/partial-file.ts'
import { CheckpointFault } from '../files/checkpoint-fault.ts'
import type { FileDigest } from '../files/durable-file.ts'
import { type ElementArrays, readSafetensors, type Tensor, writeSafetensors } from '../files/safetensors.ts'
import type { UpdateBatch } from './batch.ts'

/** Writes a batch, whole or not at all. @throws CheckpointFault `corrupt` for a batch that breaks its rules; `io` */
export async function writeUpdateBatch(file: string, batch: UpdateBatch): Promise<FileDigest> {
  checkBatch(file, batch)
  const { tokens, offsets, lossMask, behaviourLogprobs, versions, advantages } = batch
  const { weights, imitation, stale, losses, turnStarts, valueTargets } = batch
  const n = [tokens.length]
  const digest = await writeSafetensors(
    file,
    new Map<string, Tensor>([
      ['tokens', { dtype: 'I32', shape: n, data: tokens }],
      ['offsets', { dtype: 'I32', shape: [offsets.length], data: offsets }],
      ['loss_mask', { dtype: 'U8', shape: n, data: lossMask }],
      ['behaviour_logprobs', { dtype: 'F32', shape: n, data: behaviourLogprobs }],
      ['versions', { dtype: 'I32', shape: n, data: versions }],
      ['advantages', { dtype: 'F32', shape: n, data: advantages }],
      ...(weights === undefined ? [] : [['weights', { dtype: 'F32', shape: n, data: weights }] as const]),
      ...(imitation === undefined
        ? []
        : [['imitation', { dtype: 'F32', shape: n, data: imitation }] as const]),
      ...(stale === undefined ? [] : [['stale', { dtype: 'U8', shape: n, data: stale }] as const]),
      ...(losses === undefined ? [] : [['losses', { dtype: 'U8', shape: n, data: losses }] as const]),
      ...(turnStarts === undefined
        ? []
        : [['turn_starts', { dtype: 'U8', shape: n, data: turnStarts }] as const]),
      ...(valueTargets === undefined
        ? []
        : [['value_targets', { dtype: 'F32', shape: n, data: valueTargets }] as const]),
    ]),
    { format: 'perdure-update-batch-1' },
  )
  await removeAbandoned(dirname(file))
  return digest
}

/** Reads a batch. @throws CheckpointFault `missing`, `corrupt`, `foreign`, `io` */
export async function readUpdateBatch(file: string): Promise<UpdateBatch> {
  const { tensors } = await readSafetensors(file)
  function vector<D extends keyof ElementArrays>(name: string, dtype: D): ElementArrays[D] {
    const tensor = tensors.get(name)
    if (tensor === undefined)
      throw new CheckpointFault('foreign', `${file}: tensor "${name}" is missing, this is no update batch`)
    if (tensor.dtype !== dtype || tensor.shape.length !== 1)
      throw new CheckpointFault(
        'foreign',
        `${file}: tensor "${name}" is ${tensor.dtype} of shape [${tensor.shape.join(', ')}], expected ${dtype} of one dimension`,
      )
    return tensor.data as ElementArrays[D]
  }
  const batch: UpdateBatch = {
    tokens: vector('tokens', 'I32'),
    offsets: vector('offsets', 'I32'),
    lossMask: vector('loss_mask', 'U8'),
    behaviourLogprobs: vector('behaviour_logprobs', 'F32'),
    versions: vector('versions', 'I32'),
    advantages: vector('advantages', 'F32'),
    ...(tensors.has('weights') ? { weights: vector('weights', 'F32') } : {}),
    ...(tensors.has('imitation') ? { imitation: vector('imitation', 'F32') } : {}),
    ...(tensors.has('stale') ? { stale: vector('stale', 'U8') } : {}),
    ...(tensors.has('losses') ? { losses: vector('losses', 'U8') } : {}),
    ...(tensors.has('turn_starts') ? { turnStarts: vector('turn_starts', 'U8') } : {}),
    ...(tensors.has('value_targets') ? { valueTargets: vector('value_targets', 'F32') } : {}),
  }
  checkBatch(file, batch)
  return batch
}

function checkBatch(file: string, batch: UpdateBatch): void {
  const { offsets: _, tokens, ...perToken } = batch
  const n = tokens.length
  for (const [name, { length }] of Object.entries(perToken))
    if (length !== n) throw refused(file, `${name} has ${length} elements, tokens has ${n}`)
  if (batch.imitation !== undefined && batch.weights === undefined)
    throw refused(file, 'imitation is given without weights')
  if (batch.valueTargets !== undefined && batch.turnStarts === undefined)
    throw refused(file, 'value_targets are given without turn_starts')
  checkEpisodes(file, batch)
  for (let i = 0; i < n; i++) checkToken(file, batch, i)
}

function checkEpisodes(file: string, batch: UpdateBatch): void {
  const {
    tokens: { length: n },
    offsets,
    lossMask,
    imitation,
  } = batch
  if (offsets.length === 0 || offsets[0] !== 0 || offsets[offsets.length - 1] !== n)
    throw refused(file, `offsets must run from 0 to ${n}`)
  for (let e = 1; e < offsets.length; e++) {
    const begin = offsets[e - 1] as number
    if ((offsets[e] as number) < begin)
      throw refused(file, `offsets[${e}] is ${offsets[e]}, below the one before (${begin})`)
    if (begin < (offsets[e] as number) && (lossMask[begin] !== 0 || (imitation?.[begin] ?? 0) !== 0))
      throw refused(file, `episode ${e - 1} counts its first token, which nothing conditions`)
  }
}

function checkToken(file: string, batch: UpdateBatch, i: number): void {
  const { tokens, lossMask, behaviourLogprobs, versions, advantages } = batch
  const { weights, imitation, stale, losses, turnStarts, valueTargets } = batch
  if ((tokens[i] as number) < 0) throw refused(file, `tokens[${i}] is ${tokens[i]}, expected 0 or more`)
  if ((lossMask[i] as number) > 1) throw refused(file, `loss_mask[${i}] is ${lossMask[i]}, expected 0 or 1`)
  if (!Number.isFinite(behaviourLogprobs[i]) || !Number.isFinite(advantages[i]))
    throw refused(
      file,
      `logprob ${behaviourLogprobs[i]} or advantage ${advantages[i]} of token ${i} is not finite`,
    )
  const [weight = 0, imitated = 0, isStale = 0, loss = 0] = [
    weights?.[i],
    imitation?.[i],
    stale?.[i],
    losses?.[i],
  ]
  if (!(weight >= 0 && weight <= 1)) throw refused(file, `weights[${i}] is ${weight}, expected 0 to 1`)
  if (!(imitated >= 0 && imitated < Number.POSITIVE_INFINITY))
    throw refused(file, `imitation[${i}] is ${imitated}, expected a finite number of at least 0`)
  if (isStale > 1) throw refused(file, `stale[${i}] is ${isStale}, expected 0 or 1`)
  const [begins, target] = [turnStarts?.[i] ?? 0, valueTargets?.[i] ?? 0]
  if (
    begins > 1 ||
    (begins === 1 && lossMask[i] === 0) ||
    !Number.isFinite(target) ||
    (begins === 0 && target !== 0)
  )
    throw refused(
      file,
      `token ${i} has turn_starts ${begins} and value_targets ${target}, which are of sampled tokens that begin a turn`,
    )
  const isBare = behaviourLogprobs[i] === 0 && advantages[i] === 0 && versions[i] === -1
  if (lossMask[i] === 0 && !(isBare && weight === 0 && isStale === 0 && loss === 0))
    throw refused(
      file,
      `token ${i} does not count, but carries a logprob, an advantage, a version or a weight`,
    )
}

function refused(file: string, what: string): CheckpointFault {
  return new CheckpointFault('corrupt', `${file}: ${what}`)
}
