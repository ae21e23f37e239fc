/**
 * Task folders of Harbor as a task: `harbor+FOLDER`.
 *
 * Invariants
 * - [HARBOR-TASK-1] An instance is a folder, under its name. Without `splits` all are in `train`.
 * - The engine is only spoken to when the first machine is needed; closing leaves no container.
 */
import { fileURLToPath } from 'node:url'
import { reasonOf } from '../../../faults/reason.ts'
import type { RemoteAddress } from '../../../machine/network/remote-address.ts'
import { EnvironmentFault, type Task, type TaskOptions } from '../../contract/environment.ts'
import { listedLibrary } from '../../contract/library.ts'
import { openTaskSandbox } from '../../os/containers/sandbox.ts'
import { remoteSettingsOf } from '../base/remote-settings.ts'
import { nothing, solutionOf } from './demonstration.ts'
import { TaskImages } from './images.ts'
import type { HarborRoom } from './machine.ts'
import { createSession } from './session.ts'
import { type HarborSettings, settingsSchema } from './settings.ts'
import { readTaskFolders, type TaskFolder } from './task-folder.ts'

/** @throws EnvironmentFault */
export async function openHarbor(name: string, address: RemoteAddress, options: TaskOptions): Promise<Task> {
  const settings = remoteSettingsOf(name, settingsSchema, options)
  const folder = fileURLToPath(address.url)
  const { tasks, warnings } = readTaskFolders(folder, settings, address.name)
  const said = [...warnings]
  const splits = splitsOf(settings, tasks)
  const library = listedLibrary(folder, 'task', splits, said)
  let opened: Promise<HarborRoom> | undefined
  const room = () => {
    opened ??= openRoom(settings, options)
    opened.catch(() => {
      opened = undefined
    })
    return opened
  }
  return {
    splits: library.splits,
    warnings: said,
    instanceAt: library.instanceAt,
    create: async () => createSession(library.open, room),
    async prepare() {
      said.push(...(await unbuilt(tasks, await room())))
    },
    demonstrate: async (instance) => {
      const actions = solutionOf(library.open(instance))
      return actions && { instance, actions }
    },
    doNothing: nothing,
    close: async () => {
      await (await opened)?.sandbox.close()
      opened = undefined
    },
  }
}

async function openRoom(settings: HarborSettings, options: TaskOptions): Promise<HarborRoom> {
  const sandbox = await openTaskSandbox({ leases: options.leases })
  return { sandbox, settings, images: new TaskImages(sandbox, settings.images, options) }
}

/** Makes all images. @returns why tasks have none @throws EnvironmentFault where no task has one */
async function unbuilt(
  tasks: ReadonlyMap<string, TaskFolder>,
  { images }: HarborRoom,
): Promise<readonly string[]> {
  const reasons: string[] = []
  for (const task of tasks.values())
    try {
      await images.ofAgent(task)
      await images.ofVerifier(task)
    } catch (fault) {
      if (!(fault instanceof EnvironmentFault) || fault.kind !== 'bad_data' || tasks.size === 1) throw fault
      reasons.push(`${task.name} cannot be played: ${reasonOf(fault)}`)
    }
  if (reasons.length < tasks.size) return reasons
  throw new EnvironmentFault('bad_data', `no task can be played: ${reasons.slice(0, 3).join('; ')}`)
}

/** Tasks by split and name. @throws EnvironmentFault `bad_settings` a name that no task has */
function splitsOf(
  { splits = { train: ['*'] } }: HarborSettings,
  tasks: ReadonlyMap<string, TaskFolder>,
): ReadonlyMap<string, ReadonlyMap<string, TaskFolder>> {
  return new Map(
    Object.entries(splits).map(([split, patterns]) => {
      const chosen = patterns.map((pattern) => {
        const letters = pattern.split('*').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
        const whole = new RegExp(`^${letters.join('.*')}$`, 's')
        const found = [...tasks].filter(([name]) => whole.test(name))
        if (found.length > 0) return found
        throw new EnvironmentFault(
          'bad_settings',
          `splits.${split} names "${pattern}": expected one of ${[...tasks.keys()].slice(0, 20).join(', ')}`,
        )
      })
      return [split, new Map(chosen.flat())] as const
    }),
  )
}
