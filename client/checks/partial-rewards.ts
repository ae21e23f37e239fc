/** Partial rewards: whether a task pays before its episodes end, seen in the play of its expert. */
import type { Task } from '../../envs/contract/environment.ts'
import { instanceOrder } from '../../learning/rollout/instance-order.ts'

/** Instances whose demonstration is played; an expert may have none for the first. */
const tries = 3

/** @returns false also where the task has no expert @throws EnvironmentFault */
export async function paysBeforeTheEnd(task: Task, { name, size }: Task['splits'][number]): Promise<boolean> {
  for (let position = 0; position < tries; position++) {
    const instance = task.instanceAt(name, instanceOrder(size, position))
    const demonstration = await task.demonstrate?.(instance)
    if (demonstration === undefined) continue
    await using opened = new AsyncDisposableStack()
    const session = opened.adopt(await task.create(), (each) => each.close())
    await session.reset(instance)
    for (const action of demonstration.actions) {
      const { reward, done } = await session.step(action)
      if (done) return false
      if (reward !== 0) return true
    }
  }
  return false
}
