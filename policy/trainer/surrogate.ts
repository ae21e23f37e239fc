/**
 * Surrogate advantages: an objective whose derivative in each logprob is a rule, through the graph of the clipped one.
 *
 * With the policy's own logprobs as behaviour every ratio is 1, and the graph's derivative of a token is −A. So A is set to the
 * negative derivative that the rule gives, from logprobs that a run without gradient computed before. The graph adds the
 * reference term and the entropy bonus as always.
 *
 * Invariants
 * - [SURROGATE-1] The gradient is that of the rule's loss, a token counting its weight in the batch and a sequence all of its
 *   tokens together.
 */
import {
  cispoLoss,
  gspoLoss,
  type PolicyLoss,
  type SampledToken,
  type TokenLoss,
  type TokenObjective,
} from '../../learning/objective.ts'
import type { UpdateBatch } from './batch.ts'
import type { TokenResults } from './graph-sessions.ts'
import type { MicroBatch } from './micro-batch.ts'

/** Losses that need logprobs before their gradient. */
export type SurrogateLoss = Exclude<PolicyLoss, 'clipped'>

/** What a batch's tokens say under a rule. */
export interface Surrogate {
  /** [micros][rows] the policy's own */
  readonly logprobs: readonly Float32Array[]
  /** The policy part of the loss of a counted token, by its place in the batch. */
  readonly parts: ReadonlyMap<number, TokenLoss>
}

/** Applies a rule to all counted tokens. @param results of the policy, by micro-batch */
export function surrogateOf(
  loss: SurrogateLoss,
  batch: UpdateBatch,
  micros: readonly MicroBatch[],
  results: readonly TokenResults[],
  objective: TokenObjective,
): Surrogate {
  const tokens = new Map<number, SampledToken>()
  for (const [index, { sources }] of micros.entries())
    for (const [row, source] of sources.entries())
      tokens.set(source, {
        logprob: results[index]!.logprobs[row]!,
        behaviourLogprob: batch.behaviourLogprobs[source]!,
        advantage: batch.advantages[source]!,
      })
  const parts = new Map<number, TokenLoss>()
  for (let episode = 0; episode + 1 < batch.offsets.length; episode++) {
    const sequence: [number, SampledToken][] = []
    for (let source = batch.offsets[episode]!; source < batch.offsets[episode + 1]!; source++) {
      const token = tokens.get(source)
      if (token !== undefined) sequence.push([source, token])
    }
    const losses = lossesOf(
      loss,
      sequence.map(([, token]) => token),
      objective,
    )
    for (const [place, [source]] of sequence.entries()) parts.set(source, losses[place]!)
  }
  return { logprobs: results.map(({ logprobs }) => logprobs), parts }
}

/** Of the tokens of one episode. */
function lossesOf(
  loss: SurrogateLoss,
  sequence: readonly SampledToken[],
  objective: TokenObjective,
): readonly TokenLoss[] {
  const [first] = sequence
  if (first === undefined) return []
  if (loss === 'cispo') return sequence.map((token) => cispoLoss(token, objective))
  const { derivatives, ...whole } = gspoLoss(
    sequence.map(({ logprob }) => logprob),
    sequence.map(({ behaviourLogprob }) => behaviourLogprob),
    first.advantage,
    objective,
  )
  // Each token brings its weight, one of as many as the sequence has, and the sequence counts all of them.
  return derivatives.map((derivative) => ({ ...whole, derivative: derivative * sequence.length }))
}
