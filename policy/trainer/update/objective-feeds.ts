/**
 * The inputs that an objective's graph is fed for a micro-batch, beside its layout.
 *
 * Invariants
 * - Under a surrogate no clip of the graph acts (`surrogate.ts`).
 */
import type { GraphKind } from '../../transformer/objective-graph.ts'
import type { ProximalBatch } from '../batch.ts'
import type { ObjectiveFeeds } from '../graphs/graph-sessions.ts'
import type { ObjectiveSettings } from '../trainer.ts'
import type { MicroBatch } from './micro-batch.ts'
import type { Surrogate } from './surrogate.ts'

/** The graph of an objective. */
export function graphKind({ kind, entropyCoefficient }: ObjectiveSettings): GraphKind {
  if (kind === 'supervised') return 'supervised'
  return entropyCoefficient === 0 ? 'policy' : 'policy_with_entropy'
}

/** The values of a batch's counted tokens that an objective reads. */
export interface TokenFacts {
  readonly batch: ProximalBatch
  /** The weight of a token in the loss, by its place in the batch. */
  readonly weightOf: (source: number) => number
  /** Whether its entropy is kept within the bounds of the objective. */
  readonly smooths: (source: number) => boolean
  /** [rows] of the micro-batch; undefined without a reference. */
  readonly referenceLogprobs: Float32Array | undefined
}

/** No ratio is beyond it, and no loss. */
const unbounded = 1e9

/** @param surrogate the policy's own logprobs, and the rule's derivatives; undefined where the graph has the loss itself */
export function objectiveFeeds(
  objective: ObjectiveSettings,
  { sources }: MicroBatch,
  { batch, weightOf, smooths, referenceLogprobs }: TokenFacts,
  surrogate: { readonly logprobs: Float32Array; readonly parts: Surrogate['parts'] } | undefined,
): ObjectiveFeeds {
  const numbers = { inverse_temperature: 1 / objective.temperature }
  const weights = Float32Array.from(sources, weightOf)
  if (objective.kind === 'supervised') return { vectors: { weights }, numbers }
  const behaviour =
    surrogate?.logprobs ??
    Float32Array.from(sources, (source) => (batch.proximalLogprobs ?? batch.behaviourLogprobs)[source]!)
  const advantageOf = (source: number) =>
    surrogate === undefined ? batch.advantages[source]! : -(surrogate.parts.get(source)?.derivative ?? 0)
  const isFree = surrogate !== undefined
  const { low, high, pull } = objective.entropyBand ?? { low: 0, high: 0, pull: 0 }
  const hasEntropy = objective.entropyCoefficient !== 0
  return {
    vectors: {
      weights,
      behaviour,
      advantages: Float32Array.from(sources, advantageOf),
      imitation: Float32Array.from(sources, (source) => batch.imitation?.[source] ?? 0),
      // Without a reference its coefficient is 0, and any finite number will do.
      reference: referenceLogprobs ?? behaviour,
      ...(hasEntropy && {
        entropy_pull: Float32Array.from(sources, (source) => (smooths(source) ? pull : 0)),
      }),
    },
    numbers: {
      ...numbers,
      clip_floor: isFree ? 0 : 1 - objective.clipLow,
      clip_ceiling: isFree ? unbounded : 1 + objective.clipHigh,
      dual_clip: isFree ? unbounded : objective.dualClip,
      kl_coefficient: referenceLogprobs === undefined ? 0 : objective.klCoefficient,
      ...(hasEntropy && {
        entropy_coefficient: objective.entropyCoefficient,
        entropy_low: low,
        entropy_high: high,
      }),
    },
  }
}
