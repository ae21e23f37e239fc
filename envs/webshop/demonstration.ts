/**
 * Demonstrations of shopping: what the expert played.
 *
 * Invariants
 * - A demonstration earns the full reward; where the expert does not, there is none.
 */
import type { AssistantMessage } from '../../messages/message.ts'
import type { Demonstration, Environment, InstanceId } from '../environment.ts'
import { createExpert } from './expert.ts'

/** Turns after which an instance is given up: those of a training episode. */
const turnLimit = 20
/** Rewards are quotients: a full one may miss 1 by the last digits. */
const full = 1 - 1e-9

/** What the expert plays for an instance. */
export async function demonstrateByExpert(
  createSession: () => Environment,
  instance: InstanceId,
): Promise<Demonstration | undefined> {
  const session = createSession()
  try {
    const expert = createExpert()
    const actions: AssistantMessage[] = []
    let { info } = await session.reset(instance)
    while (actions.length < turnLimit) {
      const call = expert.next(String(info.observation))
      if (call === undefined) return undefined
      const action: AssistantMessage = { role: 'assistant', content: '', tool_calls: [call] }
      actions.push(action)
      const result = await session.step(action)
      if (result.done) return result.reward >= full ? { instance, actions } : undefined
      info = result.info
    }
    return undefined
  } finally {
    await session.close()
  }
}
