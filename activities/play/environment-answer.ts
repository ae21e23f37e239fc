/**
 * Answer of an environment: what it says to a reset or to an action.
 *
 * Invariants
 * - An action that could not be read is answered to the agent and counted, and never reaches the task.
 * - A caller that is cancelled does not wait. How long an answer may take is the task's rule (`envs/contract/watched-task.ts`).
 */
import { Context } from '@temporalio/activity'
import type { StepResult } from '../../envs/contract/environment.ts'
import type { Message } from '../../messages/message.ts'
import { spoken } from '../../messages/spoken-action.ts'
import type { StoredAction } from '../../storage/trajectories/actions.ts'
import { isShutdown } from './call-in-progress.ts'
import type { LiveSession } from './sessions.ts'

/** One step; an action that could not be read is answered in the place of the task. */
export async function playAction(session: LiveSession, action: StoredAction): Promise<StepResult> {
  const refusal = answerToUnreadable(action.problems)
  return refusal ?? unlessCancelled(() => session.environment.step(spoken(action.message)))
}

/** What the agent hears in the place of the task; undefined for an action that could be read. */
export function answerToUnreadable(problems: readonly unknown[]): StepResult | undefined {
  const [problem] = problems
  if (problem === undefined) return undefined
  const content = problemSentence(problem)
  const message: Message = { role: 'tool', name: 'error', content }
  return { messages: [message], info: { problem: content }, reward: 0, done: false, invalid: true }
}

/** Waits for an environment until the caller is cancelled. @throws CancelledFailure */
export async function unlessCancelled<T>(work: () => Promise<T>): Promise<T> {
  const { cancellationSignal } = Context.current()
  const { promise: givenUp, reject } = Promise.withResolvers<never>()
  const onCancel = () => {
    // A worker that shuts down lets the step end.
    if (!isShutdown(cancellationSignal)) reject(cancellationSignal.reason)
  }
  if (cancellationSignal.aborted) onCancel()
  cancellationSignal.addEventListener('abort', onCancel, { once: true })
  try {
    return await Promise.race([work(), givenUp])
  } finally {
    cancellationSignal.removeEventListener('abort', onCancel)
  }
}

function problemSentence(problem: unknown): string {
  return typeof problem === 'object' && problem !== null && 'sentence' in problem
    ? String(problem.sentence)
    : 'The action could not be read; call one tool with a JSON object of arguments.'
}
