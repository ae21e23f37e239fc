/**
 * The task argument of a command: a registered name, the path of your own task, or the address of a server.
 *
 * Invariants
 * - A registered name is never looked for anywhere else.
 * - An unknown task lists the known ones and explains how to pass your own.
 */
import { existsSync } from 'node:fs'
import { meantInstead } from '../../config/files/fault.ts'
import { isPath, moduleAt } from '../../config/files/paths.ts'
import { withSecrets } from '../../config/files/secrets.ts'
import type { EnvironmentDefinition } from '../../envs/contract/environment.ts'
import { loadEnvironment, loadEnvironments } from '../../envs/external/loading.ts'
import { environments, UnknownTask } from '../../envs/registry.ts'
import type { RemoteReading } from '../../envs/remote/remote-environment.ts'
import { ExternalFault } from '../../machine/modules/external-module.ts'
import { AddressFault, isRemoteAddress } from '../../machine/network/remote-address.ts'
import type { JsonObject } from '../../messages/message.ts'
import { CallFault } from '../terminal/failure.ts'

/**
 * The task of a name, a path or a package; `#NAME` chooses where a module has several.
 * @throws CallFault
 * @example await taskAt('./guess-number')
 */
export async function taskAt(address: string, settings?: JsonObject): Promise<EnvironmentDefinition> {
  const registered = environments.find(({ name }) => name === address)
  if (registered !== undefined) return registered
  const found = await tasksAt(address, settings)
  const [only, ...others] = found
  if (only !== undefined && others.length === 0) return only
  const choices = isRemoteAddress(address)
    ? found.map(({ source }) => source).join(', ')
    : found.map((each) => `${address}#${each.name}`).join(', ')
  throw new CallFault('bad_argument', `${address} has several tasks: use ${choices}`)
}

/** The task of that name in a module, or behind an address, where a configuration has it as `from`. @throws CallFault */
export async function taskFrom(
  from: string,
  name: string,
  settings?: JsonObject,
): Promise<EnvironmentDefinition> {
  if (!isRemoteAddress(from)) return await taskAt(`${from}#${name}`, settings)
  const { remoteEnvironment } = await import('../../envs/remote/remote-environment.ts')
  return await refusing(async () => remoteEnvironment(from, name, readingOf(from, settings)))
}

/** All tasks of a module or a server, or the one that `#NAME` chooses. @throws CallFault, EnvironmentFault */
export async function tasksAt(
  address: string,
  settings?: JsonObject,
): Promise<readonly EnvironmentDefinition[]> {
  if (isRemoteAddress(address)) return await remoteTasks(address, settings)
  const { where, name } = partsOf(address)
  try {
    const module = moduleOf(where)
    return name === undefined ? await loadEnvironments(module) : [await loadEnvironment(module, name)]
  } catch (cause) {
    if (!(cause instanceof ExternalFault)) throw cause
    const hint = name === undefined ? '' : ` ("#${name}" chooses a task of the module)`
    throw new CallFault('bad_argument', `${cause.message}${hint}`, { cause })
  }
}

async function remoteTasks(address: string, settings: unknown): Promise<readonly EnvironmentDefinition[]> {
  const { remoteEnvironments } = await import('../../envs/remote/remote-environment.ts')
  return await refusing(() => remoteEnvironments(address, readingOf(address, settings)))
}

function readingOf(address: string, settings: unknown): RemoteReading {
  return { settings, fill: (part) => withSecrets(part, address) }
}

/** @throws CallFault for an address that cannot be one */
async function refusing<Found>(work: () => Promise<Found>): Promise<Found> {
  try {
    return await work()
  } catch (cause) {
    if (!(cause instanceof AddressFault)) throw cause
    throw new CallFault('bad_argument', cause.message, { cause })
  }
}

/** A file or folder that has `#` in its own name is found before a part of it is taken for the name of a task. */
function partsOf(address: string): { readonly where: string; readonly name?: string } {
  const at = address.lastIndexOf('#')
  if (at < 0 || existsSync(address)) return { where: address }
  return { where: address.slice(0, at), name: address.slice(at + 1) }
}

function moduleOf(address: string): string {
  return moduleAt(address, '.', (allowed) => {
    const { message } = new UnknownTask(address)
    const meant = meantInstead(
      address,
      environments.map(({ name }) => name),
    )
    throw new CallFault(
      'bad_argument',
      isPath(address) ? `"${address}": expected ${allowed}` : `${message}, or ${allowed}${meant}`,
    )
  })
}
