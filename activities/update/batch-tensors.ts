/**
 * The tensors of an update's batch, from episodes with what was planned of them.
 *
 * Invariants
 * - Episodes keep the order in which they are given; the same episodes give the same bytes.
 * - Tensors that no token of a batch needs are left out: weights where all count alike, imitation where nothing is imitated,
 *   losses where all have one.
 */
import type { TurnAdvantage } from '../../learning/algorithms/algorithm.ts'
import type { UpdateBatch } from '../../policy/trainer/batch.ts'
import type { SampledTurn, Trajectory } from '../../storage/trajectories/trajectory.ts'

/** An episode as it is learnt from. */
export interface BatchEpisode {
  readonly trajectory: Pick<
    Trajectory,
    'tokens' | 'lossMask' | 'logprobs' | 'versions' | 'laterSequences'
  > & {
    readonly turns: readonly Pick<SampledTurn, 'begin' | 'end'>[]
  }
  /** [turns] whether each was drawn from the pool of older versions; absent: none. */
  readonly stale?: readonly boolean[]
  /** [turns], or [1] for all of them. */
  readonly advantages: readonly TurnAdvantage[]
  /** Weight of each of its action tokens in the policy loss, where tokens are weighted. */
  readonly weight?: number
  /** Weight of the negative log-likelihood of each of its action tokens besides; absent: 0. */
  readonly imitation?: number
  /** Which of the objective's losses it has; absent: the first. */
  readonly loss?: number
  /** [turns] what values are fitted to; absent: 0. */
  readonly valueTargets?: readonly number[]
}

/** Which of the tensors are needed that a batch may have; absent: none. */
interface NeededTensors {
  readonly isWeighted?: boolean
  /** Only beside weights. */
  readonly isImitating?: boolean
  /** Weight of the likelihood of all that was read together; only where something is imitated. */
  readonly observationWeight?: number
  /** Tasks have losses of their own. */
  readonly hasLosses?: boolean
  /** Turns have learnt values. */
  readonly hasValues?: boolean
}

/** Joins episodes to a batch. */
export function batchTensors(
  episodes: readonly BatchEpisode[],
  { isWeighted, isImitating, observationWeight = 0, hasLosses, hasValues }: NeededTensors = {},
): UpdateBatch {
  const total = episodes.reduce((sum, { trajectory }) => sum + trajectory.tokens.length, 0)
  const offsets = [0]
  const batch: Omit<UpdateBatch, 'offsets'> & { readonly stale: Uint8Array } = {
    tokens: new Int32Array(total),
    lossMask: new Uint8Array(total),
    behaviourLogprobs: new Float32Array(total),
    versions: new Int32Array(total).fill(-1),
    advantages: new Float32Array(total),
    ...(isWeighted ? { weights: new Float32Array(total) } : {}),
    ...(isImitating ? { imitation: new Float32Array(total) } : {}),
    stale: new Uint8Array(total),
    ...(hasLosses ? { losses: new Uint8Array(total) } : {}),
    ...(hasValues ? { turnStarts: new Uint8Array(total), valueTargets: new Float32Array(total) } : {}),
  }
  const read = episodes.map(({ trajectory }) => (observationWeight > 0 ? readTokens(trajectory) : []))
  const readWeight = observationWeight / Math.max(1, read.flat().length)
  let at = 0
  for (const [index, episode] of episodes.entries()) {
    const { trajectory, stale = [], advantages, weight = 0, imitation = 0, loss = 0 } = episode
    const { valueTargets = [] } = episode
    batch.tokens.set(trajectory.tokens, at)
    batch.lossMask.set(trajectory.lossMask, at)
    batch.behaviourLogprobs.set(trajectory.logprobs, at)
    batch.versions.set(trajectory.versions, at)
    for (const [turn, { begin, end }] of trajectory.turns.entries()) {
      const advantage = advantages[advantages.length === 1 ? 0 : turn] ?? 0
      if (typeof advantage === 'number') batch.advantages.fill(advantage, at + begin, at + end)
      else batch.advantages.set(advantage, at + begin)
      batch.weights?.fill(weight, at + begin, at + end)
      batch.imitation?.fill(imitation, at + begin, at + end)
      batch.losses?.fill(loss, at + begin, at + end)
      // A turn without a token begins nowhere.
      if (end > begin) {
        batch.turnStarts?.fill(1, at + begin, at + begin + 1)
        batch.valueTargets?.fill(valueTargets[turn] ?? 0, at + begin, at + begin + 1)
      }
      if (stale[turn]) batch.stale.fill(1, at + begin, at + end)
    }
    for (const place of read[index] ?? []) batch.imitation?.fill(readWeight, at + place, at + place + 1)
    for (const begin of trajectory.laterSequences ?? []) offsets.push(at + begin)
    at += trajectory.tokens.length
    offsets.push(at)
  }
  return { ...batch, offsets: Int32Array.from(offsets) }
}

/** Positions of the tokens that an agent read before its last action, except the first of a sequence, which nothing conditions. */
function readTokens({
  lossMask,
  laterSequences = [],
}: Pick<Trajectory, 'lossMask' | 'laterSequences'>): number[] {
  const last = lossMask.lastIndexOf(1)
  const firsts = new Set([0, ...laterSequences])
  return [...lossMask.keys()].filter((place) => !firsts.has(place) && place < last && lossMask[place] === 0)
}
