/**
 * The words of an episode: what it is found by.
 *
 * Invariants
 * - System prompts and lists of tools are left out: all episodes of a task have the same.
 * - Pure, bounded, and never throws: what cannot be read has no words.
 */
import type { AssistantMessage, Message } from '../../messages/message.ts'

/** Characters of an episode; of a longer one the beginning counts. */
const longest = 64 * 1024

/** @param said JSON of the messages of each observation, and of each action's message */
export function wordsOf(said: {
  readonly observations: readonly string[]
  readonly actions: readonly string[]
}): string {
  const parts: string[] = []
  let length = 0
  const turns = Math.max(said.observations.length, said.actions.length)
  for (let turn = 0; turn < turns && length < longest; turn++)
    for (const text of [observed(said.observations[turn]), acted(said.actions[turn])]) {
      const part = text.slice(0, longest - length)
      length += part.length
      if (part !== '') parts.push(part)
    }
  return parts.join('\n')
}

function observed(json: string | undefined): string {
  const messages = read(json)
  if (!Array.isArray(messages)) return ''
  return messages.flatMap((message: Partial<Message> | null) => textOf(message)).join('\n')
}

function textOf(message: Partial<Message> | null): readonly string[] {
  const { role, content } = message ?? {}
  return role === 'system' || typeof content !== 'string' ? [] : [content]
}

function acted(json: string | undefined): string {
  const message = read(json) as Partial<AssistantMessage> | null | undefined
  const { content, tool_calls: calls } = message ?? {}
  const called = Array.isArray(calls) ? calls.map((call) => valuesOf(call).join(' ')) : []
  return [typeof content === 'string' ? content : '', ...called].join('\n')
}

function valuesOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  if (typeof value === 'number' || typeof value === 'boolean') return [String(value)]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(valuesOf) : []
}

function read(json: string | undefined): unknown {
  if (json === undefined) return undefined
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
