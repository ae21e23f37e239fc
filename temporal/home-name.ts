/**
 * The name of a home on its server: what keeps apart the work of homes that share one.
 *
 * Invariants
 * - A server of the home's own needs none.
 * - A copy of a home has another name than the original, on whatever machine: it never takes the original's work.
 * - Processes that see one store in different places share their work only where a fleet's name says so.
 */
import { type HomeName, homeName, isFleetName, ownServer } from '../identity/identity.ts'
import type { Store } from '../storage/store.ts'
import type { TemporalConnection } from './connection.ts'
import { TemporalFault } from './server/fault.ts'

const fleetVariable = 'PERDURE_FLEET'

/** @throws TemporalFault `bad_settings` where `PERDURE_FLEET` is no name */
export function homeNameOn({ isOwn }: Pick<TemporalConnection, 'isOwn'>, store: Store): HomeName {
  const { scope } = store.leases
  const fleet = fleetNamed()
  if (fleet !== undefined) return homeName({ scope, fleet })
  return isOwn ? ownServer : nameAtPlace(store)
}

/** Other names under which this very home may have begun work: without its present fleet, or on a server of its own. */
export function otherNames(name: HomeName, store: Store): readonly HomeName[] {
  return [ownServer, nameAtPlace(store)].filter((other) => other !== name)
}

function nameAtPlace({ original, leases: { scope } }: Store): HomeName {
  return homeName({ scope, place: original })
}

/** The fleet that the environment names. @throws TemporalFault `bad_settings` */
export function fleetNamed(): string | undefined {
  const named = process.env[fleetVariable]
  if (named === undefined || named === '') return undefined
  if (isFleetName(named)) return named
  throw new TemporalFault(
    'bad_settings',
    `${fleetVariable} is "${named}", expected a name of up to 32 letters, digits, "-" or "_". Correct it or unset it.`,
  )
}
