/**
 * An action in a few words, for lists and details that a person reads.
 *
 * Invariants
 * - It fits on one line.
 */
import type { AssistantMessage } from './message.ts'

const longest = 60

/** The first argument of the first call, or the text, cut to what fits on a line. */
export function actionSummary(message: AssistantMessage): string {
  const call = message.tool_calls?.[0]
  const [argument] = call === undefined ? [] : Object.values(call.arguments)
  const said = argument === undefined ? (call?.name ?? message.content) : plain(argument)
  const text = said.replaceAll(/\s+/g, ' ').trim()
  return text.length > longest ? `${text.slice(0, longest - 1)}…` : text
}

function plain(argument: unknown): string {
  return typeof argument === 'string' ? argument : JSON.stringify(argument)
}
