/**
 * An action in a few words, for lists and details that a person reads.
 *
 * Invariants
 * - [SUMMARY-1] It fits on one line of at most 80 characters.
 * - [SUMMARY-2] Each call is shown with its tool and every argument; a long argument is cut before a short one is.
 */
import type { AssistantMessage, ToolCall } from './message.ts'

const longest = 80
const shortestShare = 8

/**
 * The calls of an action; its text where it has none.
 * @example actionSummary({ role: 'assistant', content: '', tool_calls: [{ name: 'move', arguments: { x: 1, y: 2 } }] }) // 'move(x: 1, y: 2)'
 */
export function actionSummary(message: AssistantMessage): string {
  const { content, tool_calls: calls = [] } = spoken(message)
  if (calls.length === 0) return cut(oneLine(content), longest)
  return cut(callsWithin(calls, shareOf(calls)), longest)
}

/** The most characters an argument may have so that all fit; less than a few characters would say nothing. */
function shareOf(calls: readonly ToolCall[]): number {
  let share = longest
  while (share > shortestShare && callsWithin(calls, share).length > longest) share--
  return share
}

function callsWithin(calls: readonly ToolCall[], share: number): string {
  return calls.map((call) => callWithin(call, share)).join('; ')
}

function callWithin({ name, arguments: given }: ToolCall, share: number): string {
  const shown = Object.entries(given).map(([key, value]) => [key, cut(plain(value), share)] as const)
  const [only, ...others] = shown
  // A single argument is understood without its name, and most tools have one.
  const listed =
    only !== undefined && others.length === 0
      ? only[1]
      : shown.map(([key, value]) => `${key}: ${value}`).join(', ')
  return `${oneLine(name)}(${listed})`
}

function plain(argument: unknown): string {
  return oneLine(typeof argument === 'string' ? argument : JSON.stringify(argument))
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text
}

/** The action without its thoughts: an answer that the agent only considers is not given. */
export function spoken({ said, ...action }: AssistantMessage): AssistantMessage {
  return said === undefined ? action : { ...action, content: said }
}
