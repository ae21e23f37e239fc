/**
 * What an evaluation measures: a suite of the run's configuration, and a version that the run has published.
 *
 * Invariants
 * - Asks no server: the store and the configuration know both.
 */
import type { RunConfig } from '../config/schema.ts'
import type { RunId } from '../identity/identity.ts'
import type { Home } from '../storage/home.ts'
import type { Store } from '../storage/store.ts'
import { requireKeptVersion } from './good-version.ts'
import { SessionFault } from './session-fault.ts'

/** The suite of a name, the first one by default. @throws SessionFault `unknown_suite` */
export function suiteOf(run: RunId, { evaluation: { suites } }: RunConfig, name: string | undefined) {
  const suite = name === undefined ? suites[0] : suites.find((candidate) => candidate.name === name)
  if (suite !== undefined) return suite
  const names = suites.map((candidate) => candidate.name).join(', ')
  throw new SessionFault(
    'unknown_suite',
    `run ${run} has no suite "${name ?? ''}"; configured: ${names || 'none'}`,
  )
}

/** @throws SessionFault `unknown_version` */
export async function publishedVersion(store: Store, run: RunId): Promise<number> {
  const version = await store.runs.version(run)
  if (version !== undefined) return version
  throw new SessionFault('unknown_version', `run ${run} has not published a version yet; evaluate it later`)
}

/** @throws SessionFault `unknown_suite`, `unknown_version` */
export async function requireSuiteAndVersion(
  place: { readonly home: Home; readonly store: Store },
  { id, config }: { readonly id: RunId; readonly config: RunConfig },
  { suite, version }: { readonly suite?: string | undefined; readonly version?: number | undefined },
): Promise<void> {
  suiteOf(id, config, suite)
  await requireKeptVersion(place, id, version ?? (await publishedVersion(place.store, id)))
}
