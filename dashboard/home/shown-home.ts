/**
 * The home that a dashboard shows: its store, looked at and never written, and its episode index.
 *
 * Invariants
 * - Nothing in the home changes: the store is read over a connection that cannot write.
 * - It works where nothing else runs; links to the Temporal UI are there as long as one answers.
 */
import { workflowIdOf } from '../../identity/identity.ts'
import { type Home, homeAt } from '../../storage/disk/home.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { homeNameOn } from '../../temporal/home-name.ts'
import { type EpisodeIndex, openEpisodeIndex } from '../episode-index/episode-index.ts'

/** Where the Temporal UI has the work of the home. */
export interface TemporalPlace {
  /** The address of the UI. */
  readonly url: string
  readonly namespace: string
  /** Whether its server serves this home alone. */
  readonly isOwn: boolean
}

export interface ShownHome extends AsyncDisposable {
  readonly home: Home
  readonly store: Store
  readonly index: EpisodeIndex
  /** Undefined while no UI answers. */
  temporal(): TemporalPlace | undefined
  /** The page of a piece of work in the Temporal UI, as a part of an answer. */
  temporalPage(id: string): { readonly temporal?: string }
}

/** @throws StorageFault `missing`, `newer_schema`, `corrupt`, `no_permission` */
export async function openShownHome(
  directory: string,
  temporal: () => TemporalPlace | undefined = () => undefined,
  cache?: string,
): Promise<ShownHome> {
  const home = homeAt(directory)
  await using opened = new AsyncDisposableStack()
  const store = opened.use(await openStore(home.storeFile, { create: false, access: 'look' }))
  const index = opened.use(
    openEpisodeIndex({
      store: home.storeFile,
      scope: store.leases.scope,
      feed: store.feed,
      ...(cache === undefined ? {} : { folder: cache }),
    }),
  )
  const all = opened.move()
  return {
    home,
    store,
    index,
    temporal,
    temporalPage(id) {
      const place = temporal()
      if (place === undefined) return {}
      const { url, namespace } = place
      // The address of Temporal Cloud's UI names the namespace already.
      const root = url.includes('/namespaces/') ? url : `${url}/namespaces/${namespace}`
      return {
        temporal: `${root}/workflows/${encodeURIComponent(workflowIdOf(homeNameOn(place, store), id))}`,
      }
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  }
}
