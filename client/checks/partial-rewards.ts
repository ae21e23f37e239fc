/** Partial rewards: whether a task pays before its episodes end, seen in the play of its expert. */
import { EnvironmentFault, type Task } from '../../envs/contract/environment.ts'
import { instanceOrder } from '../../learning/rollout/instance-order.ts'

/** Instances whose demonstration is played; an expert may have none for the first. */
const tries = 3

/**
 * Says that rewards get lost at a limit, where a task pays some before the end.
 * @param names.key which setting keeps them
 * @param names.penalty where it is known, what such an episode earns instead
 * @returns no notice also where the task has no expert, or fails
 */
export async function partialRewardNotices(
  opened: Task,
  split: Task['splits'][number],
  names: { readonly task: string; readonly key: string; readonly penalty?: number },
): Promise<readonly string[]> {
  try {
    if (!(await paysBeforeTheEnd(opened, split))) return []
  } catch (fault) {
    // An instance that fails is left out by the run, and may be so here.
    if (!(fault instanceof EnvironmentFault)) throw fault
    return []
  }
  const { task, key, penalty = 'the penalty, `learning.notCompletedPenalty`' } = names
  return [
    `${task}: rewards are paid before an episode ends; one that hits a limit loses them and earns ${penalty}, unless \`${key}\` is \`keep\` or \`add\``,
  ]
}

/** @throws EnvironmentFault */
async function paysBeforeTheEnd(task: Task, { name, size }: Task['splits'][number]): Promise<boolean> {
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
