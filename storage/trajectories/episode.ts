/**
 * Episode: the stored record of one attempt, from its start to its seal.
 *
 * Invariants
 * - A seal is complete: an episode has all of it or none.
 */
import type { EpisodeId, ParentId, RunId } from '../../identity/identity.ts'
import { isRewarded, type Outcome } from '../../learning/evaluation/outcome.ts'

export interface NewEpisode {
  readonly id: EpisodeId
  readonly task: string
  readonly instance: string
  readonly created: number
}

/** How an episode ended. */
export interface EpisodeEnding {
  readonly outcome: Outcome
  /** The final reward, penalty included; null exactly where the outcome carries none. */
  readonly reward: number | null
  /** Whether it counts as a success; by default where it earned the reward of a task that is solved. */
  readonly success?: boolean
  readonly ended: number
}

/** Sealing adds the ending and figures of the trajectory. */
export interface EpisodeSeal extends EpisodeEnding {
  readonly success: boolean
  /** The last value of each metric that its environment declares; absent where it declares none. */
  readonly metrics?: Readonly<Record<string, number>>
  /** Number of actions. */
  readonly turns: number
  readonly observations: number
  /** Prompt and action tokens. */
  readonly tokens: number
  readonly actionTokens: number
  /** Actions with at least one problem. */
  readonly problems: number
  /** Oldest and newest version that sampled an action; null without actions. */
  readonly versionMin: number | null
  readonly versionMax: number | null
  /** SHA-256, hexadecimal. */
  readonly checksum: string
}

export interface StoredEpisode extends NewEpisode {
  readonly run: RunId
  readonly parent: ParentId
  readonly sample: number
  readonly attempt: number
  /** Absent while the episode runs. */
  readonly seal?: EpisodeSeal
  /** When retention deleted its observations and actions. */
  readonly released?: number
}

export interface SealedEpisode extends StoredEpisode {
  readonly seal: EpisodeSeal
}

/** True for an episode whose trajectory is closed. */
export function isSealed(episode: StoredEpisode): episode is SealedEpisode {
  return episode.seal !== undefined
}

/** The attempts at one sample. */
export interface PlayedSample {
  readonly sample: number
  /** The attempt that ended with a reward, and so counts; undefined where none did. */
  readonly result: SealedEpisode | undefined
  /** The attempt that ended last. */
  readonly last: SealedEpisode | undefined
  /** The first attempt that has not ended. */
  readonly nextAttempt: number
}

/**
 * The samples from one to another, played or not.
 * @param played attempts at samples of one parent, in any order
 */
export function samplesOf(
  played: readonly StoredEpisode[],
  { from = 0, to }: { readonly from?: number; readonly to: number },
): readonly PlayedSample[] {
  const bySample = Map.groupBy(played.filter(isSealed), ({ sample }) => sample)
  return Array.from({ length: Math.max(0, to - from) }, (_, index) => {
    const sample = from + index
    const ended = (bySample.get(sample) ?? []).toSorted((a, b) => a.attempt - b.attempt)
    const last = ended.at(-1)
    const result = ended.find(({ seal }) => isRewarded(seal.outcome))
    return { sample, result, last, nextAttempt: (last?.attempt ?? -1) + 1 }
  })
}
