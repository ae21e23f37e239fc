/**
 * Messages as AgentRL's controllers and workers exchange them: OpenAI's form, where an answer names its call by an id.
 *
 * Invariants
 * - [AGENTRL-WIRE-1] Arguments are always JSON of an object: a call that has none never leaves.
 * - [AGENTRL-WIRE-2] A message that came over the wire is the message that was sent, with its name.
 */
import { z } from 'zod'
import { argumentsText } from '../../../messages/exact-arguments.ts'
import type { AssistantMessage, Message, ToolCall } from '../../../messages/message.ts'
import { contentText } from '../base/observed-text.ts'

const content = z.union([z.string(), z.array(z.unknown())]).nullish()
const messageSchema = z.discriminatedUnion('role', [
  z.object({ role: z.enum(['system', 'developer']), content }),
  z.object({ role: z.literal('user'), content }),
  z.object({
    role: z.literal('tool'),
    content,
    tool_call_id: z.string().nullish(),
    name: z.string().nullish(),
  }),
])

/** An answer of a controller. */
export const answerSchema = z.object({
  messages: z
    .array(messageSchema)
    .nullish()
    .transform((messages) => messages ?? []),
  tools: z
    .array(
      z.object({
        function: z.object({
          name: z.string(),
          description: z.string().nullish(),
          parameters: z.unknown().optional(),
        }),
      }),
    )
    .nullish(),
  finish: z.boolean(),
  status: z.string(),
  reward: z.unknown().optional(),
  metrics: z.record(z.string(), z.json()).nullish().catch(undefined),
})

type WireMessage = z.output<typeof messageSchema>

/** A message of the environment. @param names the called names by the ids of their calls */
export function messageOf(message: WireMessage, names: ReadonlyMap<string, string>): Message {
  const text = typeof message.content === 'string' ? message.content : contentText(message.content ?? [])
  if (message.role === 'tool')
    return {
      role: 'tool',
      name: message.name ?? names.get(message.tool_call_id ?? '') ?? 'error',
      content: text,
    }
  return { role: message.role === 'user' ? 'user' : 'system', content: text }
}

/** A call, and the id that it is answered under. */
export interface IdentifiedCall {
  readonly id: string
  readonly call: ToolCall
}

/** The calls of an action with ids of their own; undefined where one of them cannot be sent. */
export function identified(action: AssistantMessage, turn: number): readonly IdentifiedCall[] | undefined {
  const given: unknown = action.tool_calls ?? []
  if (!Array.isArray(given)) return undefined
  const calls = given.map((call: unknown, at) => ({ id: `call_${turn}_${at}`, call: call as ToolCall }))
  return calls.every(({ call }) => isSendable(call)) ? calls : undefined
}

function isSendable(call: Partial<ToolCall> | null | undefined): boolean {
  if (typeof call !== 'object' || call === null || typeof call.name !== 'string' || call.name === '')
    return false
  const { arguments: given } = call
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return false
  // Values nested deeper than can be written read as null.
  return argumentsText(call as ToolCall).startsWith('{')
}

/** The agent's message as it is sent. */
export function wireAction(action: AssistantMessage, calls: readonly IdentifiedCall[]): object {
  return {
    role: 'assistant',
    content: typeof action.content === 'string' ? action.content : '',
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map(({ id, call }) => ({
            id,
            type: 'function',
            function: { name: call.name, arguments: argumentsText(call) },
          })),
        }),
  }
}
