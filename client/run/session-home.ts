/**
 * The home of a training session: its store, the server that knows its runs, and the watch over its file.
 *
 * Invariants
 * - A part that cannot be opened closes the parts opened before it, the last one first; a part that fails to close
 *   does not keep the others open.
 */
import type { HomeName } from '../../identity/identity.ts'
import type { Home } from '../../storage/disk/home.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { connect, type TemporalConnection } from '../../temporal/connection.ts'
import { homeNameOn } from '../../temporal/home-name.ts'
import { watchHome } from '../../workers/upkeep/home-watch.ts'

export interface SessionHome extends AsyncDisposable {
  readonly home: Home
  readonly store: Store
  readonly server: TemporalConnection
  /** Under which the server knows the home's work. */
  readonly homeName: HomeName
  /** Rejects when the home is lost, or its server for good. */
  readonly lost: Promise<never>
}

interface SessionHomeOptions {
  readonly log: (line: string) => void
  readonly signal?: AbortSignal | undefined
  /** Whether workers of this process use the home: it is watched then, and a server that hangs is started again. */
  readonly hasWorkers: boolean
}

/** Connects, starting the embedded server where none is named, and opens the store. */
export async function openSessionHome(home: Home, options: SessionHomeOptions): Promise<SessionHome> {
  const { log, signal, hasWorkers } = options
  await using opened = new AsyncDisposableStack()
  const { promise: serverLost, reject: onFault } = Promise.withResolvers<never>()
  const server = await connect(home.dir, { log, signal, restartsHung: hasWorkers, onFault })
  opened.defer(() => server.close())
  const store = await openStore(home.storeFile)
  opened.defer(() => store.close())
  const watch = hasWorkers ? await watchHome(home) : undefined
  opened.defer(() => watch?.close())
  const lost = watch === undefined ? serverLost : Promise.race([watch.lost, serverLost])
  // Without a listener the rejection would end the process; calls of the session fail anyway.
  lost.catch(() => undefined)
  const homeName = homeNameOn(server, store)
  const all = opened.move()
  return {
    home,
    store,
    server,
    homeName,
    lost,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  }
}
