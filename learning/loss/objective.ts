/**
 * Objective: the loss of sampled tokens and its derivative, in plain arithmetic.
 *
 * The trainer computes the same in its graph; this is what the graph is checked against.
 *
 * Invariants
 * - [OBJECTIVE-1] Each derivative is that of the loss beside it, with respect to the token's logprob (natural
 *   logarithm).
 * - [OBJECTIVE-2] Where a clip is active the policy part of the derivative is exactly zero.
 * - [OBJECTIVE-3] A token sampled by the very policy has loss and derivative −A.
 * - [OBJECTIVE-4] The reference term's derivative is at most β in size, whatever the reference says of the token: one
 *   token cannot turn an update.
 */

/** Settings of the token objective; names as in the configuration. */
export interface TokenObjective {
  readonly clipLow: number
  readonly clipHigh: number
  /** Bound c of the loss for negative advantages: at most −c·A. Infinity turns it off. */
  readonly dualClip: number
  readonly klCoefficient: number
  readonly entropyCoefficient: number
  /** Bounds that draw the entropy of smoothed tokens to them; absent: none. */
  readonly entropyBand?: EntropyBand | undefined
}

/** Bounds of a token's entropy in nats; a nat outside of them counts as `pull` nats less in the entropy bonus. */
export interface EntropyBand {
  readonly low: number
  readonly high: number
  readonly pull: number
}

/** One sampled token. */
export interface SampledToken {
  readonly logprob: number
  /** The logprob under the version that sampled it, at its temperature. */
  readonly behaviourLogprob: number
  readonly advantage: number
  /** The logprob under the reference policy; absent without one. */
  readonly referenceLogprob?: number
  /** The entropy of the whole distribution at the token's position; 0 where there is no entropy bonus. */
  readonly entropy?: number
  /** Whether its algorithm keeps entropy within bounds (`smoothsEntropy`); absent: it does not. */
  readonly isSmoothed?: boolean
}

export interface TokenLoss {
  readonly loss: number
  /** ∂loss/∂logprob; the entropy's own gradient is `entropyGradient`. */
  readonly derivative: number
  /** Whether a clip made the policy part constant, for the statistics; absent: it did not. */
  readonly clipped?: boolean
}

/**
 * Loss of one token: r = exp(logp − behaviour); L = max(−A r, −A clip(r, 1−ε_low, 1+ε_high)); for A < 0
 * L = min(L, −c A); plus β·boundedK3(reference) − entropy bonus. The batch's loss is the mean over its action tokens.
 * Source: PPO arXiv 1707.06347, dual clip arXiv 1912.09729, k3 as in arXiv 2402.03300, bounded as said there.
 * @example tokenLoss({ logprob: Math.log(0.6), behaviourLogprob: Math.log(0.4), advantage: 1 },
 *   { clipLow: 0.2, clipHigh: 0.2, dualClip: 3, klCoefficient: 0, entropyCoefficient: 0 }).loss // −1.2
 */
export function tokenLoss(token: SampledToken, objective: TokenObjective): TokenLoss {
  return regularized(clippedLoss(token, objective), token, objective)
}

/** The policy part of `tokenLoss`. */
export function clippedLoss(
  { advantage, ...token }: SampledToken,
  objective: Pick<TokenObjective, 'clipLow' | 'clipHigh' | 'dualClip'>,
): TokenLoss {
  const ratio = Math.exp(token.logprob - token.behaviourLogprob)
  const clippedRatio = clip(ratio, objective)
  const free = -advantage * ratio
  const bounded = -advantage * clippedRatio
  let loss = Math.max(free, bounded)
  // Ties go to the free branch: inside the clip range both are equal and the gradient flows.
  let derivative = free >= bounded ? free : 0
  if (advantage < 0 && -objective.dualClip * advantage < loss) {
    loss = -objective.dualClip * advantage
    derivative = 0
  }
  return { loss, derivative, clipped: derivative === 0 && advantage !== 0 }
}

/** The policy part of a token's loss with the reference term and the entropy bonus. */
export function regularized(
  policy: TokenLoss,
  token: Pick<SampledToken, 'logprob' | 'referenceLogprob' | 'entropy' | 'isSmoothed'>,
  {
    klCoefficient,
    entropyCoefficient,
    entropyBand,
  }: Pick<TokenObjective, 'klCoefficient' | 'entropyCoefficient' | 'entropyBand'>,
): TokenLoss {
  const { entropy = 0 } = token
  const { low, high, pull } = (token.isSmoothed === true && entropyBand) || {
    low: entropy,
    high: entropy,
    pull: 0,
  }
  const outside = Math.max(0, low - entropy) + Math.max(0, entropy - high)
  let loss = policy.loss - entropyCoefficient * (entropy - pull * outside)
  let { derivative } = policy
  if (token.referenceLogprob !== undefined) {
    const toReference = boundedK3(token.referenceLogprob - token.logprob)
    loss += klCoefficient * toReference.value
    derivative -= klCoefficient * toReference.derivative
  }
  return { ...policy, loss, derivative }
}

/**
 * Weight of a token under the decoupled objective: min(π_proximal / π_behaviour, limit), a constant.
 * Source: arXiv 2110.00641, arXiv 2505.24298.
 * @example truncatedImportance(Math.log(0.9), Math.log(0.1), 5) // 5
 */
export function truncatedImportance(
  proximalLogprob: number,
  behaviourLogprob: number,
  limit: number,
): number {
  return Math.min(Math.exp(proximalLogprob - behaviourLogprob), limit)
}

/**
 * k3 estimate of a divergence from one sample: exp(x) − x − 1 with x = log(q/p) at a token sampled from p;
 * unbiased for KL(p‖q), never negative. Source: J. Schulman, Approximating KL Divergence (2020).
 * @returns value and derivative with respect to x
 * @example k3(0) // { value: 0, derivative: 0 }
 */
export function k3(logRatio: number): { readonly value: number; readonly derivative: number } {
  return { value: Math.expm1(logRatio) - logRatio, derivative: Math.expm1(logRatio) }
}

/** The log ratio from which on `boundedK3` is a straight line; there k3's slope is 1. */
export const k3Knee = Math.LN2

/**
 * k3 that continues as its tangent beyond a ratio of 2: its slope is min(e^x, 2) − 1, from −1 to 1. Where policies are
 * close it is k3. One token on which they differ by 15 nats counts about 14.6; k3 has 3.3 million for it, so that a mean
 * or a gradient over thousands of tokens would be that of the one token. (A Huber loss bounds squares in the same way,
 * P. Huber, Robust Estimation of a Location Parameter, 1964.)
 * @returns value and derivative with respect to x
 * @example boundedK3(15).value // 14.613706: 1 − ln 2 at the knee, and 15 − ln 2 more
 */
export function boundedK3(logRatio: number): { readonly value: number; readonly derivative: number } {
  const { value, derivative } = k3(Math.min(logRatio, k3Knee))
  return { value: value + Math.max(0, logRatio - k3Knee), derivative }
}

/** Entropy −Σ p ln p of softmax(logits), in nats. @param logits [vocabulary] */
export function entropyOf(logits: readonly number[]): number {
  return -logSoftmax(logits).reduce((sum, logp) => sum + Math.exp(logp) * logp, 0)
}

/** ∂H/∂logit_i = −p_i (ln p_i + H). @param logits [vocabulary] @returns [vocabulary] */
export function entropyGradient(logits: readonly number[]): number[] {
  const entropy = entropyOf(logits)
  return logSoftmax(logits).map((logp) => -Math.exp(logp) * (logp + entropy))
}

function logSoftmax(logits: readonly number[]): number[] {
  const largest = logits.reduce((max, logit) => Math.max(max, logit), Number.NEGATIVE_INFINITY)
  const logSum = Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - largest), 0))
  return logits.map((logit) => logit - largest - logSum)
}

/** The ratio within [1 − ε_low, 1 + ε_high]. */
export function clip(
  ratio: number,
  { clipLow, clipHigh }: Pick<TokenObjective, 'clipLow' | 'clipHigh'>,
): number {
  return Math.min(Math.max(ratio, 1 - clipLow), 1 + clipHigh)
}
