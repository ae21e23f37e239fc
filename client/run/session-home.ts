/**
 * The home of a training session: its store, the server that knows its runs, and the watch over its file.
 *
 * Invariants
 * - A part that cannot be opened closes the parts opened before it, the last one first; a part that fails to close
 *   does not keep the others open.
 * - [HOME-WATCH-1] The store decides: the session ends when it is gone, or is another one than it opened.
 * - A look that fails in any other way ends nothing: the disk may be slow or away for a moment.
 */

import type { HomeName } from '../../identity/identity.ts'
import { clock } from '../../machine/services/clock.ts'
import { StorageFault, storageFaultOf } from '../../storage/disk/fault.ts'
import type { Home } from '../../storage/disk/home.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { connect, type TemporalConnection } from '../../temporal/connection.ts'
import { homeNameOn } from '../../temporal/home-name.ts'

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

/** Home watch: a session whose home is deleted or replaced ends, and writes no new one in its place. */
interface HomeWatch {
  /** Rejects when the home is lost; never settles otherwise. */
  readonly lost: Promise<never>
  close(): Promise<void>
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
  const watch = hasWorkers ? await watchHome(home, () => store.identity()) : undefined
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

/** Soon enough that little fails of it first; a look costs some microseconds. */
const lookEveryMs = 1_000

/**
 * Watches until it is closed.
 * @param identity tells which store is there
 * @param everyMs milliseconds between two looks
 */
export async function watchHome(
  home: Home,
  identity: Store['identity'],
  everyMs: number = lookEveryMs,
): Promise<HomeWatch> {
  const closing = new AbortController()
  const first = await identityOf(identity)
  const { promise: lost, reject } = Promise.withResolvers<never>()
  // Without a listener the rejection would end the process; calls of the session fail anyway.
  lost.catch(() => undefined)

  async function watch(): Promise<void> {
    while (!closing.signal.aborted) {
      const found = await identityOf(identity)
      if (found !== 'unknown' && found !== first) return reject(lostHome(home, found))
      await clock.sleep(everyMs, { signal: closing.signal, ref: false }).catch(() => undefined)
    }
  }

  const watching = first === 'unknown' ? Promise.resolve() : watch()
  return {
    lost,
    async close() {
      closing.abort()
      await watching
    },
  }
}

/** `missing` where there is no store, `unknown` where it cannot be asked. */
async function identityOf(identity: Store['identity']): Promise<string> {
  try {
    return await identity()
  } catch (error) {
    return storageFaultOf(error, 'store').kind === 'missing' ? 'missing' : 'unknown'
  }
}

function lostHome({ dir, storeFile }: Home, found: string): StorageFault {
  const what = found === 'missing' ? 'is gone' : 'was replaced by another one'
  return new StorageFault(
    'missing',
    `${storeFile} ${what} while it was in use, so nothing more is written to ${dir}; put the home back and continue with \`perdure resume\`, or start afresh`,
  )
}
