/**
 * A task that a command opens, with the flags that say how.
 *
 * Invariants
 * - A fault that a flag caused names the flag.
 */
import { type Command, InvalidArgumentError } from 'commander'
import { withSecrets } from '../../config/files/secrets.ts'
import { EnvironmentFault, type Task } from '../../envs/contract/environment.ts'
import { openWatched, saidBy } from '../../envs/contract/watched-task.ts'
import { AddressFault } from '../../machine/network/remote-address.ts'
import type { JsonObject } from '../../messages/message.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { CallFault } from '../terminal/failure.ts'
import { homeOption, shellPath } from '../terminal/options.ts'
import { taskAt } from './task-address.ts'

/** The flags of a task. */
export interface TaskFlags {
  readonly data?: string
  readonly split?: string
  readonly settings?: JsonObject
  readonly home: string
}

/** The command with a task as its argument. */
export function withTaskFlags(command: Command): Command {
  return command
    .argument(
      '<task>',
      'name of a task; `perdure env list` shows them; the path or package of one of your own; the address of a server, e.g. openenv+http://HOST:PORT; or harbor+FOLDER',
    )
    .option('--data <dir>', 'folder with official data; without it the built-in generator is used', shellPath)
    .option('--split <name>', 'split that instances are looked up in')
    .option('--settings <json>', "the task's own settings, a JSON object", jsonObject)
    .addOption(homeOption())
}

function jsonObject(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject
  } catch {
    // The error below covers invalid JSON as well.
  }
  throw new InvalidArgumentError('Use a JSON object, e.g. {"showAdmissible":true}.')
}

/** Says a warning on standard error. */
export function warn(sentence: string): void {
  process.stderr.write(`warning: ${sentence}\n`)
}

/** Opens the task. @throws CallFault, EnvironmentFault */
export async function openTask(
  address: string,
  { data, settings, home }: TaskFlags,
  unlimited = false,
): Promise<Task> {
  const definition = await taskAt(address, settings)
  try {
    const folder = homeAt(home).environmentsDir
    const filled = settings === undefined ? undefined : withSecrets(settings, '--settings')
    const task = await openWatched(
      definition,
      { dataDir: data, settings: filled, folder, unlimited },
      saidBy(warn),
    )
    for (const warning of task.warnings ?? []) warn(warning)
    return task
  } catch (cause) {
    throw cause instanceof EnvironmentFault && cause.kind === 'bad_data' && data === undefined
      ? cause
      : callFault(cause)
  }
}

const flags: Readonly<Record<string, string>> = {
  bad_settings: '--settings',
  bad_data: '--data',
  unknown_split: '--split',
  unknown_instance: '--instance',
}

/** A fault caused by a flag becomes a CallFault that names it; other errors are returned unchanged. */
export function callFault(cause: unknown): unknown {
  if (cause instanceof EnvironmentFault && cause.cause instanceof AddressFault)
    return new CallFault('bad_argument', cause.message, { cause })
  const flag = cause instanceof EnvironmentFault ? flags[cause.kind] : undefined
  if (!(cause instanceof EnvironmentFault) || flag === undefined) return cause
  return new CallFault('bad_flag', `${flag}: ${cause.message}`, { cause })
}
