/**
 * Items for each instance, of tasks whose every instance may be tried.
 *
 * Invariants
 * - [EACH-INSTANCE-1] An instance is kept where its solution, if it has one, earns 1, and doing nothing earns 0.
 */
import type { InstanceId, Task } from '../../envs/contract/environment.ts'
import type { AssistantMessage } from '../../messages/message.ts'
import { BrokenPromise, type CheckItem } from './broken-promise.ts'
import { paidBy, played, withSession } from './play-through.ts'

/** None for a task that does not say what doing nothing is. */
export function eachInstance(task: Task): readonly CheckItem[] {
  const { doNothing } = task
  if (doNothing === undefined) return []
  const instances = task.splits.flatMap(({ name, size }) =>
    Array.from({ length: size }, (_, index) => task.instanceAt(name, index)),
  )
  return [...new Set(instances)].map((instance) => [
    `${instance}: the solution earns 1, doing nothing 0`,
    () => solved(task, instance, doNothing),
  ])
}

async function solved(
  task: Task,
  instance: InstanceId,
  doNothing: readonly AssistantMessage[],
): Promise<string> {
  const earned = (actions: readonly AssistantMessage[]) =>
    withSession(task, async (session) => paidBy(await played(session, instance, actions)))
  const idle = await earned(doNothing)
  if (idle !== 0) throw new BrokenPromise(`doing nothing earned ${idle}`)
  const shown = await task.demonstrate?.(instance)
  if (shown === undefined) return 'doing nothing earned 0; it has no solution'
  const paid = await earned(shown.actions)
  if (paid !== 1) throw new BrokenPromise(`the solution earned ${paid}`)
  return 'the solution earned 1, doing nothing 0'
}
