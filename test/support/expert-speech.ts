/**
 * A policy that plays as the experts of several tasks do, so that groups of a test have what learning compares: in each group the first
 * sample plays as the expert, the second says its first action twice, and the others say nothing that can be used.
 *
 * Invariants
 * - Tasks have equal weights, and play their split `train` in its order: so the number of a group tells its task and its instance.
 */
import type { Task } from '../../envs/contract/environment.ts'
import { findEnvironment } from '../../envs/registry.ts'
import { parseEpisodeId } from '../../identity/identity.ts'
import { instanceOrder } from '../../learning/rollout/instance-order.ts'
import type { AssistantMessage } from '../../messages/message.ts'
import type { Speech } from './tiny-run.ts'

/** @param entries tasks as in the configuration, in its order */
export async function expertSpeech(
  entries: readonly { readonly task: string; readonly settings: Readonly<Record<string, string>> }[],
): Promise<{ readonly speak: Speech; readonly close: () => Promise<void> }> {
  const tasks: Task[] = []
  for (const { task, settings } of entries) tasks.push(await findEnvironment(task).open({ settings }))
  const played = new Map<number, Promise<readonly AssistantMessage[]>>()

  async function demonstrated(group: number): Promise<readonly AssistantMessage[]> {
    const task = tasks[group % tasks.length]
    const split = task?.splits.find(({ name }) => name === 'train')
    if (task === undefined || split === undefined) return []
    const position = Math.floor(group / tasks.length)
    const instance = task.instanceAt(split.name, instanceOrder(split.size, position))
    return (await task.demonstrate?.(instance))?.actions ?? []
  }

  return {
    async speak({ cacheKey, borders }, chat) {
      const { parent, sample } = parseEpisodeId(cacheKey)
      const group = Number(/\d+$/.exec(parent)?.[0])
      const actions = played.get(group) ?? demonstrated(group)
      played.set(group, actions)
      const turn = borders.length
      const action = (await actions)[sample === 0 ? turn : Math.max(0, turn - 1)]
      return action === undefined || sample > 1 ? 'hm' : [...chat.encodeAssistant(action)]
    },
    close: async () => {
      for (const task of tasks) await task.close()
    },
  }
}
