/**
 * Surrogate advantages: an objective whose derivative in each logprob is a rule, through the graph of the clipped one.
 *
 * With the policy's own logprobs as behaviour every ratio is 1, and the graph's derivative of a token is −A. So A is set to the
 * negative derivative that the rule gives, from logprobs that a run without gradient computed before. The graph adds the
 * reference term and the entropy bonus as always.
 *
 * Invariants
 * - [SURROGATE-1] The gradient is that of the rule's loss, in which each token counts its weight in the batch and keeps its own
 *   advantage.
 * - [SURROGATE-2] Each token has the loss of its task, whichever other losses the batch has.
 * - [SURROGATE-3] Logprobs of the start and of the reference are those of these policies, whatever the steps before have changed.
 */

import type { LossToken } from '../../../learning/algorithms/algorithm.ts'
import type { TokenLoss, TokenObjective } from '../../../learning/loss/objective.ts'
import type { ProximalBatch } from '../batch.ts'
import type { TokenResults } from '../graphs/graph-sessions.ts'
import type { Losses } from './losses.ts'
import { type MicroBatch, sampledRows } from './micro-batch.ts'
import type { TokenFigures } from './token-figures.ts'

/** The surrogate of a batch's tokens under a rule. */
export interface Surrogate {
  /** [micros][rows] the policy's own */
  readonly logprobs: readonly Float32Array[]
  /** The policy part of the loss of a counted token, by its place in the batch. */
  readonly parts: ReadonlyMap<number, TokenLoss>
}

/** Log-probabilities of the tokens under other policies. */
export interface OtherPolicies {
  /** [micros] of the reference policy; empty without one. */
  readonly references: readonly TokenResults[]
  /** Under the policy that the update starts from; absent: under the policy itself. */
  readonly atStart?: Pick<TokenFigures, 'logRatios'> | undefined
}

/** Applies their rules to all counted tokens. @param results of the policy, by micro-batch */
export function surrogateOf(
  losses: Losses,
  batch: ProximalBatch,
  micros: readonly MicroBatch[],
  results: readonly TokenResults[],
  objective: TokenObjective,
  { references, atStart }: OtherPolicies,
): Surrogate {
  const tokens = new Map<number, LossToken>()
  for (const [index, micro] of micros.entries())
    for (const [row, source] of sampledRows(batch, micro)) {
      const behaviourLogprob = batch.behaviourLogprobs[source]!
      const logprob = results[index]!.logprobs[row]!
      const moved = atStart?.logRatios[batch.places?.[source] ?? source]
      const referenceLogprob = references[index]?.logprobs[row]
      tokens.set(source, {
        logprob,
        behaviourLogprob,
        startLogprob: moved === undefined ? logprob : behaviourLogprob + moved,
        ...(referenceLogprob === undefined ? {} : { referenceLogprob }),
        proximalLogprob: batch.proximalLogprobs?.[source] ?? behaviourLogprob,
        advantage: batch.advantages[source]!,
        stale: batch.stale?.[source] === 1,
      })
    }
  const parts = new Map<number, TokenLoss>()
  for (let episode = 0; episode + 1 < batch.offsets.length; episode++) {
    const sequence: [number, LossToken][] = []
    for (let source = batch.offsets[episode]!; source < batch.offsets[episode + 1]!; source++) {
      const token = tokens.get(source)
      if (token !== undefined) sequence.push([source, token])
    }
    const [first] = sequence
    if (first === undefined) continue
    // An episode has one task, and so one loss.
    const { lossesOf } = losses.of(first[0])
    const found = lossesOf(
      sequence.map(([, token]) => token),
      objective,
    )
    for (const [place, [source]] of sequence.entries()) parts.set(source, found[place]!)
  }
  return { logprobs: results.map(({ logprobs }) => logprobs), parts }
}
