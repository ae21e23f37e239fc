/**
 * The expert of an environment of a user's own, played.
 *
 * Invariants
 * - A demonstration is what the expert did in a session like any other, and it won.
 */
import type { AssistantMessage, JsonObject, ToolCall } from '../../messages/message.ts'
import type { Demonstration, Environment, InstanceId } from '../contract/environment.ts'

/** A turn of an expert: calls by tool, or words. */
export type ExpertTurn = Readonly<Record<string, unknown>> | string

/**
 * Plays an instance.
 * @param begin starts the expert after the reset
 * @returns undefined where it does not come to the end within so many turns
 */
export async function playExpert(
  session: Environment,
  instance: InstanceId,
  begin: () => Iterator<ExpertTurn, void, string>,
  turnLimit: number,
): Promise<Demonstration | undefined> {
  try {
    await session.reset(instance)
    const play = begin()
    const actions: AssistantMessage[] = []
    let reward = 0
    let wish = play.next('')
    while (wish.done !== true && actions.length < turnLimit) {
      const action = actionOf(wish.value)
      actions.push(action)
      const step = await session.step(action)
      reward += step.reward
      if (step.outcome !== undefined)
        return step.outcome === 'completed' ? { instance, actions, reward } : undefined
      wish = play.next(step.messages.map(({ content }) => content).join('\n'))
    }
    return undefined
  } finally {
    await session.close()
  }
}

function actionOf(turn: ExpertTurn): AssistantMessage {
  if (typeof turn === 'string') return { role: 'assistant', content: turn }
  return { role: 'assistant', content: '', tool_calls: callsOf(turn) }
}

function callsOf(calls: Readonly<Record<string, unknown>>): readonly ToolCall[] {
  return Object.entries(calls).flatMap(([name, given]) =>
    given === undefined ? [] : [{ name, arguments: given as JsonObject }],
  )
}
