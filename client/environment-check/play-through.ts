/**
 * Plays of an environment that is checked.
 *
 * Invariants
 * - A session is closed, whatever it did.
 */
import type { Environment, InstanceId, StepResult, Task } from '../../envs/contract/environment.ts'
import type { AssistantMessage } from '../../messages/message.ts'

/** Does work with a session that is closed afterwards. */
export async function withSession<Result>(
  task: Task,
  work: (session: Environment) => Promise<Result>,
): Promise<Result> {
  const session = await task.create()
  try {
    return await work(session)
  } finally {
    await session.close()
  }
}

/** The answers of a session to these actions, up to its end. */
export async function played(
  session: Environment,
  instance: InstanceId,
  actions: readonly AssistantMessage[],
): Promise<readonly Seen[]> {
  const seen: Seen[] = [seenOf(await session.reset(instance))]
  for (const action of actions) {
    const result = await session.step(action)
    seen.push(seenOf(result))
    if (result.done) break
  }
  return seen
}

/** The parts of an answer that learning uses. */
export type Seen = {
  readonly [Part in 'messages' | 'reward' | 'done' | 'outcome']: StepResult[Part] | undefined
}

export function seenOf({ messages, reward, done, outcome }: Partial<StepResult>): Seen {
  return { messages, reward, done, outcome }
}

/** The rewards together. */
export function paidBy(steps: readonly Seen[]): number {
  return steps.reduce((sum, { reward = 0 }) => sum + reward, 0)
}
