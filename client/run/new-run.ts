/**
 * New runs: how a run comes to be in a home.
 *
 * Invariants
 * - A run's name and configuration are stored first; whatever happens then, `resume` continues it.
 * - Paths that lie in the home are stored so that the home can move.
 */
import { withoutHome } from '../../config/files/home-paths.ts'
import type { RunConfig } from '../../config/schema/schema.ts'
import { type RunId, runId } from '../../identity/identity.ts'
import { clock } from '../../machine/services/clock.ts'
import { createHome, type Home } from '../../storage/disk/home.ts'
import type { Precedence } from '../../storage/sqlite/codec.ts'
import { openStore, type Store } from '../../storage/store.ts'

/** A run that has not begun. */
export interface NewRun {
  readonly id: RunId
  readonly config: RunConfig
  readonly created: number
}

/** Stores a run. @returns `already` where there is one of that name, which stays as it is */
export async function insertRun(
  { home, store }: { readonly home: Home; readonly store: Store },
  run: string,
  given: RunConfig,
): Promise<NewRun & { readonly precedence: Precedence }> {
  const created = { id: runId(run), config: withoutHome(given, home.dir), created: clock.now() }
  return { ...created, precedence: await store.runs.insert(created) }
}

/** The same where no session is open. */
export async function recordRun(directory: string, run: string, config: RunConfig): Promise<void> {
  const home = createHome(directory)
  await using store = await openStore(home.storeFile)
  await insertRun({ home, store }, run, config)
}
