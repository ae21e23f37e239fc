/**
 * The tensors of an update's batch, from episodes with what was planned of them.
 *
 * Invariants
 * - Episodes stand in the order in which they are given; the same episodes give the same bytes.
 * - What no token of a batch needs is left out: weights where all count alike, imitation where nothing is imitated,
 *   losses where all have one.
 */
import type { UpdateBatch } from '../../policy/trainer/batch.ts'
import type { CollectedEpisode } from './batch-figures.ts'

/** An episode as it is learnt from. */
export interface BatchEpisode extends CollectedEpisode {
  /** [turns] of every action token of the turn. */
  readonly advantages: readonly number[]
  /** What each of its action tokens counts in the policy loss. */
  readonly weight: number
  /** What the negative log-likelihood of each of its action tokens counts besides. */
  readonly imitation: number
  /** Which of the objective's losses it has. */
  readonly loss: number
}

/** Which of the tensors are needed that a batch may have. */
interface NeededTensors {
  readonly isWeighted: boolean
  /** Only beside weights. */
  readonly isImitating: boolean
  /** What the likelihood of all that was read counts together; only where something is imitated. */
  readonly observationWeight: number
  /** Tasks have losses of their own. */
  readonly hasLosses: boolean
}

/** Joins episodes to a batch. */
export function batchTensors(
  episodes: readonly BatchEpisode[],
  { isWeighted, isImitating, observationWeight, hasLosses }: NeededTensors,
): UpdateBatch {
  const total = episodes.reduce((sum, { trajectory }) => sum + trajectory.tokens.length, 0)
  const batch: UpdateBatch & { readonly stale: Uint8Array } = {
    tokens: new Int32Array(total),
    offsets: new Int32Array(episodes.length + 1),
    lossMask: new Uint8Array(total),
    behaviourLogprobs: new Float32Array(total),
    versions: new Int32Array(total).fill(-1),
    advantages: new Float32Array(total),
    ...(isWeighted ? { weights: new Float32Array(total) } : {}),
    ...(isImitating ? { imitation: new Float32Array(total) } : {}),
    stale: new Uint8Array(total),
    ...(hasLosses ? { losses: new Uint8Array(total) } : {}),
  }
  const read = episodes.map(({ trajectory }) => (observationWeight > 0 ? readTokens(trajectory) : []))
  const readWeight = observationWeight / Math.max(1, read.flat().length)
  let at = 0
  for (const [index, { trajectory, stale, advantages, weight, imitation, loss }] of episodes.entries()) {
    batch.tokens.set(trajectory.tokens, at)
    batch.lossMask.set(trajectory.lossMask, at)
    batch.behaviourLogprobs.set(trajectory.logprobs, at)
    batch.versions.set(trajectory.versions, at)
    for (const [turn, { begin, end }] of trajectory.turns.entries()) {
      batch.advantages.fill(advantages[turn] ?? 0, at + begin, at + end)
      batch.weights?.fill(weight, at + begin, at + end)
      batch.imitation?.fill(imitation, at + begin, at + end)
      batch.losses?.fill(loss, at + begin, at + end)
      if (stale[turn]) batch.stale.fill(1, at + begin, at + end)
    }
    for (const place of read[index] ?? []) batch.imitation?.fill(readWeight, at + place, at + place + 1)
    at += trajectory.tokens.length
    batch.offsets[index + 1] = at
  }
  return batch
}

/** Where the tokens stand that an agent read before its last action, but the first, which nothing conditions. */
function readTokens({ lossMask }: Pick<CollectedEpisode['trajectory'], 'lossMask'>): number[] {
  const last = lossMask.lastIndexOf(1)
  return [...lossMask.keys()].filter((place) => place > 0 && place < last && lossMask[place] === 0)
}
