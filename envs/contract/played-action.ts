/**
 * One action of an agent, played in an environment.
 *
 * Invariants
 * - [PLAYED-ACTION-1] An action that could not be read is answered to the agent and counted, and never reaches the environment.
 */

import { spoken } from '../../messages/action-summary.ts'
import type { AssistantMessage, Message } from '../../messages/message.ts'
import type { Environment, StepResult } from './environment.ts'

/** An action as it was read from sampled tokens. */
interface ReadAction {
  readonly message: AssistantMessage
  /** The reasons why it could not be read, if any. */
  readonly problems: readonly unknown[]
}

/** The environment's answer to an action, or the answer in its place for an action that could not be read. */
export async function playAction(
  environment: Pick<Environment, 'step'>,
  { message, problems: [problem] }: ReadAction,
): Promise<StepResult> {
  if (problem === undefined) return await environment.step(spoken(message))
  const content = problemSentence(problem)
  const answer: Message = { role: 'tool', name: 'error', content }
  return { messages: [answer], info: { problem: content }, reward: 0, done: false, invalid: true }
}

function problemSentence(problem: unknown): string {
  return typeof problem === 'object' && problem !== null && 'sentence' in problem
    ? String(problem.sentence)
    : 'The action could not be read; call one tool with a JSON object of arguments.'
}
