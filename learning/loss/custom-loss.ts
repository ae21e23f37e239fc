/**
 * A custom loss, in the place of a policy loss that comes with Perdure.
 *
 * It says the derivative beside the loss, and the trainer multiplies it with the gradient of the token's log-probability. So no
 * graph has to be written, and the reference term and the entropy bonus are added as always.
 *
 * Invariants
 * - [CUSTOM-LOSS-1] A loss or derivative that is no finite number is refused by name, and never learnt from.
 * - [CUSTOM-LOSS-2] It gets copies: what it writes to them changes nothing.
 */
import type { TokenLoss, TokenObjective } from './objective.ts'

/** A sampled token, as a custom loss sees it. Logarithms are natural, at the temperature of sampling. */
export interface LossToken {
  readonly logprob: number
  /** The logprob under the version that sampled it. */
  readonly behaviourLogprob: number
  /** The logprob that ratios divide by: of the version that the update starts from with `learning.proximal: start`, else of the sampler. */
  readonly proximalLogprob: number
  readonly advantage: number
  /** Whether its turn was drawn from the pool of older versions. */
  readonly stale: boolean
}

/** The current settings that a loss may read. */
export type LossSettings = Pick<TokenObjective, 'clipLow' | 'clipHigh' | 'dualClip'>

/** A pure function of a token: no time, randomness or I/O, so that an update that is done again has the same bytes. */
export interface CustomLoss {
  /** A trainer in another process does it by this name, if it says that it can. */
  readonly name: string
  /** `derivative` is ∂loss/∂logprob; `clipped`, for the statistics: whether a clip made the loss constant. */
  lossOf(
    token: LossToken,
    settings: LossSettings,
  ): { readonly loss: number; readonly derivative: number; readonly clipped?: boolean }
}

/** Result of a custom loss for one token. @throws RangeError a value that is not finite */
export function customTokenLoss(own: CustomLoss, token: LossToken, settings: LossSettings): TokenLoss {
  const found: { loss?: unknown; derivative?: unknown; clipped?: unknown } | undefined = own.lossOf(
    { ...token },
    { ...settings },
  )
  const { loss, derivative, clipped } = found ?? {}
  if (!isNumber(loss) || !isNumber(derivative))
    throw new RangeError(
      `the loss ${String(loss)} with the derivative ${String(derivative)} at ${JSON.stringify(token)}, expected finite numbers`,
    )
  return {
    loss,
    derivative,
    ratio: Math.exp(token.logprob - token.proximalLogprob),
    clipped: clipped === true,
  }
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}
