/**
 * Tree groups: where a group was lost as a whole, more samples play on from a turn of one of its episodes, and are compared with how
 * that one went on. Source: a tree of turns as in Tree-GRPO, arXiv 2509.21240; here only where independent samples teach nothing.
 *
 * Invariants
 * - [TREE-GROUP-1] Only a group of equal rewards of which no episode was won is played on from, and only from a turn that one of its
 *   episodes has played, not the first.
 * - [TREE-GROUP-2] The place follows from the run's seed, the group and how its episodes ended: asked for again, it is the same.
 * - [TREE-GROUP-3] Nothing is learnt from the turns before the place: they were played once, and are the same for all that are compared.
 * - [TREE-GROUP-4] If those that play on are all as lost as the group, it teaches what it taught without them: nothing.
 */
import { type EpisodeId, type GroupId, parseEpisodeId, seedOfWork, uniforms } from '../identity/identity.ts'
import { hasPreference } from './advantage.ts'

/** Where samples of a group play on from. */
export interface TreePlace {
  /** One of the group's. */
  readonly episode: EpisodeId
  /** The first turn that they play themselves; at least 1. */
  readonly turn: number
  /** Samples from this number on play on from there; those before it began at the beginning. */
  readonly firstSample: number
}

/** How an episode of a group ended. */
export interface EndedEpisode {
  readonly episode: EpisodeId
  readonly reward: number | null
  readonly success: boolean
  readonly turns: number
}

/**
 * Where a group is played on from: a turn of an episode, both drawn evenly.
 * @param of.seed the run's
 * @param of.groupSize samples that began at the beginning
 * @returns undefined where the group teaches something, was won, or has no second turn
 */
export function treePlace(
  of: { readonly seed: number; readonly group: GroupId; readonly groupSize: number },
  episodes: readonly EndedEpisode[],
): TreePlace | undefined {
  const isLost = episodes.length > 0 && !episodes.some(({ success }) => success)
  if (!isLost || hasPreference(episodes.map(({ reward }) => reward ?? 0))) return undefined
  const longer = episodes.filter(({ turns }) => turns >= 2)
  const next = uniforms(seedOfWork(of.seed, of.group, 'tree'))
  const chosen = longer[Math.floor(next() * longer.length)]
  if (chosen === undefined) return undefined
  const turn = 1 + Math.floor(next() * (chosen.turns - 1))
  return { episode: chosen.episode, turn, firstSample: of.groupSize }
}

/** The first turn that an episode of a group plays itself: 0, or where it plays on from another. */
export function begunAt(episode: EpisodeId, tree: TreePlace | undefined): number {
  return tree !== undefined && parseEpisodeId(episode).sample >= tree.firstSample ? tree.turn : 0
}

/** An episode that is compared with others of its group. */
export interface ComparedSample {
  /** Its place among the group's. */
  readonly index: number
  /** The first turn that it is learnt from. */
  readonly from: number
}

/**
 * Which episodes of a group are compared with one another: those that play on, and the one that they play on from, if their rewards
 * differ; else those that began at the beginning.
 * @param episodes [group] @param rewards [group], same order
 * @example comparedSamples([s0, s1, s8], [0, 0, 1], { episode: s1, turn: 3, firstSample: 8 }) // [{ index: 1, from: 3 }, { index: 2, from: 3 }]
 */
export function comparedSamples(
  episodes: readonly EpisodeId[],
  rewards: readonly number[],
  tree: TreePlace | undefined,
): readonly ComparedSample[] {
  const all = episodes.map((episode, index) => ({ episode, index }))
  if (tree !== undefined) {
    const branches = all.filter(({ episode }) => episode === tree.episode || begunAt(episode, tree) > 0)
    if (hasPreference(branches.map(({ index }) => rewards[index] ?? 0)))
      return branches.map(({ index }) => ({ index, from: tree.turn }))
  }
  return all.filter(({ episode }) => begunAt(episode, tree) === 0).map(({ index }) => ({ index, from: 0 }))
}

/**
 * Spreads the advantages of the compared turns over all turns of the episode: 0 before the first of them.
 * @param advantages [1] of all of them, or [turns − from]
 * @returns [turns]
 * @example advantagesFrom([0.5], { turns: 3, from: 1 }) // [0, 0.5, 0.5]
 */
export function advantagesFrom(
  advantages: readonly number[],
  { turns, from }: { readonly turns: number; readonly from: number },
): readonly number[] {
  const [first = 0] = advantages
  const isEach = advantages.length === turns - from
  return Array.from({ length: turns }, (_, turn) =>
    turn < from ? 0 : isEach ? (advantages[turn - from] ?? 0) : first,
  )
}
