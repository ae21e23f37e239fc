/** Episodes that a run plays at the moment, for tests that end a process in the middle of some. */
import type { EpisodeId, ParentId } from '../../identity/identity.ts'
import type { Store } from '../../storage/store.ts'
import { isSealed, type StoredEpisode } from '../../storage/trajectories/episode.ts'

type Parents = readonly ParentId[]

/** All that were begun for these groups and evaluations. */
export async function episodesOf(store: Store, parents: Parents): Promise<readonly StoredEpisode[]> {
  return (await Promise.all(parents.map((parent) => store.episodes.list(parent)))).flat()
}

/** Those of them with turns behind them and some to come. */
export async function openEpisodes(store: Store, parents: Parents): Promise<readonly EpisodeId[]> {
  const unsealed = (await episodesOf(store, parents))
    .filter((episode) => !isSealed(episode))
    .map(({ id }) => id)
  const turns = await Promise.all(unsealed.map(async (id) => (await store.observations.list(id)).length))
  return unsealed.filter((_, index) => (turns[index] ?? 0) > 1)
}
