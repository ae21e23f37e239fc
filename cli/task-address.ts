/**
 * How a command is given a task: by a registered name, or where a task of one's own lies.
 *
 * Invariants
 * - A registered name is never looked for anywhere else.
 * - What is no task is answered with the names there are, and with how to give one of one's own.
 */
import { meantInstead } from '../config/fault.ts'
import { isPath, moduleAt } from '../config/paths.ts'
import type { EnvironmentDefinition } from '../envs/environment.ts'
import { loadEnvironment, loadEnvironments } from '../envs/external/loading.ts'
import { environments, UnknownTask } from '../envs/registry.ts'
import { ExternalFault } from '../machine/external-module.ts'
import { CallFault } from './failure.ts'

/**
 * The task of a name, a path or a package; `#NAME` chooses where a module has several.
 * @throws CallFault
 * @example await taskAt('./guess-number')
 */
export async function taskAt(address: string): Promise<EnvironmentDefinition> {
  const registered = environments.find(({ name }) => name === address)
  if (registered !== undefined) return registered
  const [where = '', name] = address.split('#')
  try {
    if (name !== undefined) return await loadEnvironment(moduleOf(where), name)
    const found = await loadEnvironments(moduleOf(where))
    const [only, ...others] = found
    if (only !== undefined && others.length === 0) return only
    const choices = found.map((each) => `${where}#${each.name}`).join(', ')
    throw new CallFault('bad_argument', `${where} has several tasks: use ${choices}`)
  } catch (cause) {
    if (!(cause instanceof ExternalFault)) throw cause
    throw new CallFault('bad_argument', cause.message, { cause })
  }
}

/** All tasks of a module. @throws CallFault */
export async function tasksAt(address: string): Promise<readonly EnvironmentDefinition[]> {
  try {
    return await loadEnvironments(moduleOf(address))
  } catch (cause) {
    if (!(cause instanceof ExternalFault)) throw cause
    throw new CallFault('bad_argument', cause.message, { cause })
  }
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
