/**
 * Task folders of Harbor, as the registry lists a task.
 *
 * Invariants
 * - [HARBOR-DEFINITION-1] Nothing of Harbor is loaded before its folder is opened.
 */
import { fileURLToPath } from 'node:url'
import type { RemoteAddress } from '../../../machine/network/remote-address.ts'
import type { EnvironmentDefinition } from '../../contract/environment.ts'

/** Building an image and running a verifier may take two hours each; both have limits of their own. */
const stepTimeoutSeconds = 5 * 3600

/** @param settings that it will be opened with */
export function harborEnvironment(
  name: string,
  address: RemoteAddress,
  settings: unknown,
): EnvironmentDefinition {
  const isReplayed = !(settings instanceof Object && Reflect.get(settings, 'replayable') === false)
  return {
    name,
    summary: `The task ${address.name ?? 'folders'} of ${fileURLToPath(address.url)}, played in containers.`,
    source: address.shown,
    licence: "the folders' own",
    reward: "what the tests of a folder write, 1 for the folder's own solution",
    replayable: isReplayed,
    replayableBecause: isReplayed
      ? 'commands are run again, which reaches the same state except for clocks and chance'
      : 'its settings say so (replayable: false)',
    turnLimit: 30,
    stepTimeoutSeconds,
    sources: [fileURLToPath(address.url)],
    open: async (options) => (await import('./harbor.ts')).openHarbor(name, address, options),
  }
}
