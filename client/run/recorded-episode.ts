/**
 * The recorded episode that a branch is played from.
 *
 * Invariants
 * - Asks no server: the store knows whether an episode can be branched at a turn.
 * - Only an episode that has ended and whose trajectory is whole is branched off.
 */
import { type EpisodeId, parseEpisodeId } from '../../identity/identity.ts'
import { isRewarded } from '../../learning/evaluation/outcome.ts'
import type { Store } from '../../storage/store.ts'
import { isSealed, type SealedEpisode } from '../../storage/trajectories/episode.ts'
import { SessionFault } from './session-fault.ts'

/** Parts of an episode's id. @throws SessionFault `unknown_episode` */
export function ancestryOf(episode: string) {
  try {
    return parseEpisodeId(episode)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new SessionFault('unknown_episode', error.message, { cause: error })
  }
}

/** The episode of an id, as it ended. @throws SessionFault `unknown_episode` */
export async function recordedEpisode(store: Store, id: string): Promise<SealedEpisode> {
  const { run } = ancestryOf(id)
  const episode = await store.episodes.get(id as EpisodeId)
  if (episode === undefined)
    throw new SessionFault(
      'unknown_episode',
      `run ${run} has no episode ${id}; \`perdure ui\` and \`perdure export ${run}\` show those it has`,
    )
  if (!isSealed(episode))
    throw new SessionFault('unknown_episode', `episode ${id} has not ended yet; branch it later`)
  return episode
}

/** Whether the agent stood before that turn. @throws SessionFault `unknown_turn`, `unknown_episode` */
export async function checkTurn(
  store: Store,
  { id, seal, released }: SealedEpisode,
  turn: number,
): Promise<void> {
  if (released !== undefined)
    throw new SessionFault(
      'unknown_episode',
      `the turns of episode ${id} were deleted by retention; branch another`,
    )
  // An episode that was cut off can be played on from where it was.
  const last = isRewarded(seal.outcome) ? seal.turns - 1 : Math.min(seal.turns, seal.observations - 1)
  if (turn <= last && (await store.observations.get(id, turn))?.done === false) return
  throw new SessionFault(
    'unknown_turn',
    last < 0 ? `episode ${id} has no turns` : `episode ${id} has turns 0 to ${last}, not ${turn}`,
  )
}
