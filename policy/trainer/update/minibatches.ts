/**
 * Minibatches: the parts of a batch of which each gets an optimizer step of its own.
 *
 * Invariants
 * - [MINIBATCH-1] In each pass every episode that teaches a token is in exactly one minibatch; their sizes differ by one
 *   episode at most.
 * - [MINIBATCH-2] A minibatch is a batch: what its tokens count adds up to what those of the whole count, which is 1 without
 *   imitation, in the proportions of the whole.
 * - One minibatch and one pass are the batch itself. The parts follow from batch and division alone.
 */
import { seedOf, uniforms } from '../../../identity/identity.ts'
import { shuffled } from '../../../learning/rollout/shuffled.ts'
import type { ProximalBatch } from '../batch.ts'
import { spanOf } from './micro-batch.ts'

/** How a batch is divided. */
export interface Division {
  /** Minibatches of a pass; no more than there are episodes are made. */
  readonly minibatches: number
  /** Passes over the batch. */
  readonly passes: number
  /** Which episodes are together. */
  readonly seed: number
  /** Divergence from the policy that the update starts from, in nats per token, which ends it (`endsAt`); absent: it takes all steps. */
  readonly targetKl?: number | undefined
}

/**
 * Whether an update ends before the step whose minibatch finds the policy so far from the one that it started from: early stopping of
 * PPO, at 1.5 times the target as in Stable-Baselines3 (`target_kl`), which leaves that step out too.
 * @example endsAt({ targetKl: 0.02 }, 0.031) // true
 */
export function endsAt({ targetKl }: Pick<Division, 'targetKl'>, drift: number): boolean {
  return targetKl !== undefined && drift > 1.5 * targetKl
}

/** The minibatches of all passes, in their order. @returns [passes][minibatches] */
export function divided(batch: ProximalBatch, { minibatches, passes, seed }: Division): ProximalBatch[][] {
  const episodes = Array.from({ length: batch.offsets.length - 1 }, (_, episode) => episode).filter(
    (episode) => spanOf(batch, episode).length > 0,
  )
  const parts = Math.max(1, Math.min(minibatches, episodes.length))
  return Array.from({ length: passes }, (_, pass) => {
    if (parts === 1) return [batch]
    const order = shuffled(episodes, uniforms(seedOf(seed, pass)))
    return Array.from({ length: parts }, (_, part) =>
      partOf(
        batch,
        order.filter((_, place) => place % parts === part).sort((a, b) => a - b),
      ),
    )
  })
}

function partOf(batch: ProximalBatch, episodes: readonly number[]): ProximalBatch {
  const spans = episodes.map((episode) => [batch.offsets[episode]!, batch.offsets[episode + 1]!] as const)
  const offsets = new Int32Array(spans.length + 1)
  for (const [index, [begin, end]] of spans.entries()) offsets[index + 1] = offsets[index]! + end - begin
  function cut<Values extends Int32Array | Float32Array | Uint8Array>(values: Values, empty: Values): Values {
    for (const [index, [begin, end]] of spans.entries())
      empty.set(values.subarray(begin, end), offsets[index])
    return empty
  }
  const time = offsets[spans.length]!
  const { weights, imitation, stale, losses, proximalLogprobs } = batch
  const counts = [weights, imitation].filter((values) => values !== undefined)
  const own = counts.map((values) => cut(values, new Float32Array(time)))
  const [whole, part] = [sumOf(counts), sumOf(own)]
  const [ownWeights, ownImitation] = own.map((values) =>
    part === 0 ? values : values.map((value) => (value * whole) / part),
  )
  return {
    offsets,
    places: cut(Int32Array.from(batch.tokens.keys()), new Int32Array(time)),
    tokens: cut(batch.tokens, new Int32Array(time)),
    lossMask: cut(batch.lossMask, new Uint8Array(time)),
    behaviourLogprobs: cut(batch.behaviourLogprobs, new Float32Array(time)),
    versions: cut(batch.versions, new Int32Array(time)),
    advantages: cut(batch.advantages, new Float32Array(time)),
    ...(ownWeights === undefined ? {} : { weights: ownWeights }),
    ...(ownImitation === undefined ? {} : { imitation: ownImitation }),
    ...(stale === undefined ? {} : { stale: cut(stale, new Uint8Array(time)) }),
    ...(losses === undefined ? {} : { losses: cut(losses, new Uint8Array(time)) }),
    ...(proximalLogprobs === undefined
      ? {}
      : { proximalLogprobs: cut(proximalLogprobs, new Float32Array(time)) }),
  }
}

function sumOf(parts: readonly Float32Array[]): number {
  return parts.reduce((sum, values) => values.reduce((total, value) => total + value, sum), 0)
}
