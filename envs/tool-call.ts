/**
 * Tool calls as an agent makes them: a model's may hold anything, an expert's are made here.
 *
 * Invariants
 * - Whatever a call holds, reading it never throws.
 * - Of a name or value that the agent made up, no more than the limit comes back to it.
 */

import type { AssistantMessage, JsonObject } from '../messages/message.ts'

/** Letters of a made-up name or value that come back to the agent, unless a task says otherwise. */
const quoteLimit = 40

/** The fields of an object; none of what is no object. */
export function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

/**
 * The name to answer a call under.
 * @param unnamed the name where the call has none
 */
export function calledName(call: unknown, unnamed: string, limit = quoteLimit): string {
  const { name } = fieldsOf(call)
  return typeof name === 'string' && name !== '' ? name.slice(0, limit) : unnamed
}

/**
 * A text in quotation marks, cut where it is long; of any other value, its type.
 * @example quoted('open_door') // "open_door"
 * @example quoted(7) // "number"
 */
export function quoted(value: unknown, limit = quoteLimit): string {
  const text = typeof value === 'string' ? value : typeof value
  return `"${text.length > limit ? `${text.slice(0, limit)}…` : text}"`
}

/** The agent's message that makes one call. */
export function calling(name: string, given: JsonObject): AssistantMessage {
  return { role: 'assistant', content: '', tool_calls: [{ name, arguments: given }] }
}
