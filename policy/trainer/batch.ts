/**
 * An update's batch: one safetensors file, written once under the update's identity.
 *
 * Tensors (E sequences packed one after the other, N tokens in all; an episode is one, or one for each of its branches):
 * - `tokens`            I32 [N]
 * - `offsets`           I32 [E + 1]  sequence e is tokens[offsets[e] … offsets[e+1])
 * - `loss_mask`         U8  [N]  1 where the token was sampled by the policy and counts
 * - `behaviour_logprobs` F32 [N]  0 where the mask is 0
 * - `versions`          I32 [N]  the policy version that sampled the token, −1 where the mask is 0
 * - `advantages`        F32 [N]  0 where the mask is 0
 * - `weights`           F32 [N]  share of the token in the loss, 0 where the mask is 0; they add up to 1, or
 *   are all 0 where nothing but imitation is learnt from. Absent: all alike
 * - `imitation`         F32 [N]  weight of the token's negative log-likelihood in the loss, beside its policy loss, or alone where
 *   the mask is 0: then the token was read. Only beside `weights`. Absent: nowhere
 * - `stale`             U8  [N]  1 where the token's turn was drawn from the pool of older versions. Absent: nowhere
 * - `losses`            U8  [N]  which of the objective's `losses` the token has, 0 where the mask is 0. Absent: it has one for all
 * - `turn_starts`       U8  [N]  1 at the first token of each turn that the policy sampled. Absent: nowhere
 * - `value_targets`     F32 [N]  what the value of such a turn is fitted to, 0 elsewhere. Only beside `turn_starts`
 *
 * A token's logprob is conditioned on the tokens of its own sequence before it; the first token of a
 * sequence never counts.
 */
export interface UpdateBatch {
  readonly tokens: Int32Array
  readonly offsets: Int32Array
  readonly lossMask: Uint8Array
  readonly behaviourLogprobs: Float32Array
  readonly versions: Int32Array
  readonly advantages: Float32Array
  readonly weights?: Float32Array
  readonly imitation?: Float32Array
  readonly stale?: Uint8Array
  readonly losses?: Uint8Array
  readonly turnStarts?: Uint8Array
  readonly valueTargets?: Float32Array
}

/** A batch as an update learns from it. */
export interface ProximalBatch extends UpdateBatch {
  /** [N] of the policy that ratios are to; absent: the one that sampled. Never in a file. */
  readonly proximalLogprobs?: Float32Array
  /** [N] of a part of a batch: where its tokens stand in the whole. Never in a file. */
  readonly places?: Int32Array
}
