/**
 * The conversation of a request, put together message by message from any form.
 *
 * Invariants
 * - [CONVERSATION-1] Calls belong to the assistant's message before them; an answer has the name of the call with its id, and one
 *   without such a call is refused by its path.
 * - [CONVERSATION-2] Arguments keep their numbers as they were written.
 */
import { z } from 'zod'
import { readExactly, withExactArguments } from '../../../messages/exact-arguments.ts'
import type { AssistantMessage, JsonObject, Message, ToolCall, ToolSpec } from '../../../messages/message.ts'
import { RequestFault } from '../request-fault.ts'
import { deepestNesting, isTooDeep } from './request-body.ts'

export class Conversation {
  readonly #messages: Message[] = []
  readonly #names = new Map<string, string>()
  /** The message whose calls are being added. */
  #calling: { readonly message: AssistantMessage; readonly calls: ToolCall[] } | undefined

  get messages(): readonly Message[] {
    return this.#messages
  }

  add(message: Message): void {
    this.#messages.push(message)
  }

  /** A call of the assistant. */
  call(id: string, call: ToolCall): void {
    this.#names.set(id, call.name)
    const last = this.#messages.at(-1)
    // A message may have very many calls: they are not copied with each.
    if (last !== undefined && last === this.#calling?.message) this.#calling.calls.push(call)
    else {
      const said: AssistantMessage = last?.role === 'assistant' ? last : { role: 'assistant', content: '' }
      if (said === last) this.#messages.pop()
      const calls = [call]
      const message = { ...said, tool_calls: calls }
      this.#messages.push(message)
      this.#calling = { message, calls }
    }
  }

  /** The answer to a call. @param param where the request names the call @throws RequestFault */
  answer(id: string, content: string, param: string): void {
    const name = this.#names.get(id)
    if (name === undefined)
      throw new RequestFault('bad_request', `\`${param}\`: no message before it has a call "${id}"`, param)
    this.#messages.push({ role: 'tool', name, content })
  }
}

/** A call whose arguments are JSON text. @param param where the request has them @throws RequestFault */
export function callOf(name: string, text: string, param: string): ToolCall {
  return withExactArguments({ name, arguments: argumentsOf(text, param) }, readExactly(text))
}

function argumentsOf(text: string, param: string): JsonObject {
  try {
    const given: unknown = JSON.parse(text === '' ? '{}' : text)
    if (!isTooDeep(given)) return z.record(z.string(), z.json()).parse(given)
  } catch (cause) {
    throw new RequestFault('bad_request', `\`${param}\`: expected a JSON object as text`, param, { cause })
  }
  throw new RequestFault(
    'bad_request',
    `\`${param}\`: it is nested deeper than ${deepestNesting} levels`,
    param,
  )
}

/** A tool that the policy is shown. */
export function toolOf(
  name: string,
  description: string | null | undefined,
  parameters: JsonObject | null | undefined,
): ToolSpec {
  return {
    type: 'function',
    function: {
      name,
      description: description ?? '',
      parameters: parameters ?? { type: 'object', properties: {} },
    },
  }
}
