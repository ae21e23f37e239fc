/**
 * The figures of an update for each token that it learnt from: how likely it had become since it was sampled, and how many others
 * were as likely. The figures by origin follow from it, and a file beside the batch keeps it for the page.
 *
 * Tensors, N tokens as in the batch, 0 where its mask is 0:
 * - `log_ratios`  F32 [N]  logprob under the policy that the update starts from − behaviour logprob
 * - `entropies`   F32 [N]  of that policy's distribution at the token, in nats
 *
 * Invariants
 * - [TOKENFIGURES-1] They are those before the first optimizer step of the update, each token's under its place in the batch, however
 *   that is divided.
 * - A file that does not fit the batch is none.
 */
import { boundedK3 } from '../../../learning/loss/objective.ts'
import { CheckpointFault } from '../../files/checkpoint-fault.ts'
import { readSafetensors, type Tensor, writeSafetensors } from '../../files/safetensors.ts'
import type { ProximalBatch } from '../batch.ts'
import type { TokenResults } from '../graphs/graph-sessions.ts'
import { type MicroBatch, sampledRows } from './micro-batch.ts'

/** [N] each. */
export interface TokenFigures {
  readonly logRatios: Float32Array
  readonly entropies: Float32Array
}

/** None yet, of a batch of so many tokens. */
export function noFigures(tokens: number): TokenFigures {
  return { logRatios: new Float32Array(tokens), entropies: new Float32Array(tokens) }
}

/** Takes in what a run of the graph gave for a micro-batch of a batch, or of a part of one. */
export function addFigures(
  { logRatios, entropies }: TokenFigures,
  batch: ProximalBatch,
  micro: MicroBatch,
  { logprobs, entropy }: TokenResults,
): void {
  const { behaviourLogprobs, places } = batch
  for (const [row, source] of sampledRows(batch, micro)) {
    const place = places?.[source] ?? source
    logRatios[place] = logprobs[row]! - behaviourLogprobs[source]!
    entropies[place] = entropy[row]!
  }
}

/** How far a policy has moved since: Σ `boundedK3` over the sampled tokens of a micro-batch. */
export function driftFrom(
  { logRatios }: Pick<TokenFigures, 'logRatios'>,
  batch: ProximalBatch,
  micro: MicroBatch,
  { logprobs }: TokenResults,
): number {
  const { behaviourLogprobs, places } = batch
  return sampledRows(batch, micro).reduce((sum, [row, source]) => {
    const moved = logprobs[row]! - behaviourLogprobs[source]! - logRatios[places?.[source] ?? source]!
    return sum + boundedK3(moved).value
  }, 0)
}

/** Writes them, whole or not at all; the same figures give the same bytes. @throws CheckpointFault `io` */
export async function writeTokenFigures(file: string, { logRatios, entropies }: TokenFigures): Promise<void> {
  const tensors = new Map<string, Tensor>([
    ['log_ratios', { dtype: 'F32', shape: [logRatios.length], data: logRatios }],
    ['entropies', { dtype: 'F32', shape: [entropies.length], data: entropies }],
  ])
  await writeSafetensors(file, tensors, { format: 'perdure-update-tokens-1' })
}

/** Those of a batch of so many tokens; undefined where no file is there, or none that fits it. @throws CheckpointFault `io` */
export async function readTokenFigures(file: string, tokens: number): Promise<TokenFigures | undefined> {
  try {
    const { tensors } = await readSafetensors(file)
    const [logRatios, entropies] = ['log_ratios', 'entropies'].map((name) => tensors.get(name)?.data)
    if (!(logRatios instanceof Float32Array && entropies instanceof Float32Array)) return undefined
    const fits = logRatios.length === tokens && entropies.length === tokens
    return fits && logRatios.every(Number.isFinite) && entropies.every(Number.isFinite)
      ? { logRatios, entropies }
      : undefined
  } catch (fault) {
    if (fault instanceof CheckpointFault && fault.kind !== 'io') return undefined
    throw fault
  }
}
