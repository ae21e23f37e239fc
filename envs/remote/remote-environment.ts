/**
 * Environments by their addresses: behind servers, and folders of tasks.
 *
 * Invariants
 * - [REMOTE-TASK-1] The code of a protocol is loaded when an environment of it is opened or listed, and not before.
 * - [REMOTE-TASK-2] Episodes are replayed from their actions only where `settings.replayable` says that they can be.
 */
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  type RemoteAddress,
  type RemoteProtocol,
  readRemoteAddress,
} from '../../machine/network/remote-address.ts'
import type { EnvironmentDefinition, Task, TaskOptions } from '../contract/environment.ts'
import { foreknown } from './base/remote-settings.ts'
import { harborEnvironment } from './harbor/definition.ts'

interface Protocol {
  /** Names of what a server offers; none where it does not say. */
  offered(address: RemoteAddress): Promise<readonly string[]>
  open(name: string, address: RemoteAddress, options: TaskOptions): Promise<Task>
}

const protocols: Readonly<Record<Exclude<RemoteProtocol, 'harbor'>, () => Promise<Protocol>>> = {
  async openenv() {
    const { offeredByOpenEnv, openOpenEnv } = await import('./openenv/openenv.ts')
    return { offered: offeredByOpenEnv, open: openOpenEnv }
  },
  async agentrl() {
    const { offeredByAgentRl, openAgentRl } = await import('./agentrl/agentrl.ts')
    return { offered: offeredByAgentRl, open: openAgentRl }
  },
}

/** Turns of an episode unless configured otherwise: a server does not say. */
const turnLimit = 30

/** How an address is read. */
export interface RemoteReading {
  /** The settings that the environment will be opened with. */
  readonly settings?: unknown
  /** Puts secrets in the place of their references. */
  readonly fill?: (part: string) => string
}

/**
 * The environment of that name behind an address.
 * @param name what it is called here
 * @throws AddressFault
 */
export function remoteEnvironment(
  text: string,
  name: string,
  { settings, fill }: RemoteReading = {},
): EnvironmentDefinition {
  const address = readRemoteAddress(text, fill)
  const { protocol } = address
  if (protocol === 'harbor') return harborEnvironment(name, address, settings)
  const { replayable, stepTimeoutSeconds } = foreknown(settings)
  return {
    name,
    summary: `The environment ${address.name ?? name} of a server.`,
    source: address.shown,
    licence: 'that of the server',
    reward: 'what the server pays',
    replayable,
    replayableBecause: replayable
      ? 'its settings say so (replayable: true)'
      : 'what a server does with the same actions is not known here; settings.replayable: true says that it is the same',
    turnLimit,
    stepTimeoutSeconds,
    open: async (options) => (await protocols[protocol]()).open(name, address, options),
  }
}

/**
 * All environments of a server, or the one that the address names.
 * @throws AddressFault; EnvironmentFault `backend` where the server does not say what it has
 */
export async function remoteEnvironments(
  text: string,
  reading: RemoteReading = {},
): Promise<readonly EnvironmentDefinition[]> {
  const address = readRemoteAddress(text, reading.fill)
  const { protocol } = address
  if (protocol === 'harbor')
    return [remoteEnvironment(text, localName(address.name ?? basename(fileURLToPath(address.url))), reading)]
  const names =
    address.name === undefined ? await (await protocols[protocol]()).offered(address) : [address.name]
  if (names.length === 0) return [remoteEnvironment(text, protocol, reading)]
  return names.map((name) =>
    remoteEnvironment(address.name === undefined ? `${text}#${name}` : text, localName(name), reading),
  )
}

/** @example localName('OS-std') // 'os-std' */
function localName(name: string): string {
  const letters = name.toLowerCase().replaceAll(/[^a-z0-9_-]+/g, '-')
  return (/^[a-z]/.test(letters) ? letters : `task-${letters}`).slice(0, 40)
}
