/**
 * Requests in the form of OpenAI's API, read and translated.
 *
 * Invariants
 * - [OPENAI-REQUEST-1] A parameter that would change the answer and is not supported is refused by name, never ignored.
 * - Parameters that say nothing about the answer (`user`, `metadata`, …) are taken and not used.
 */
import { z } from 'zod'
import { Fault } from '../../faults/fault.ts'
import { readExactly, withExactArguments } from '../../messages/exact-arguments.ts'
import type { AssistantMessage, JsonObject, Message, ToolSpec } from '../../messages/message.ts'

/** A request that is answered by an error; `param` names what is wrong with it. */
export class RequestFault extends Fault<
  'bad_request' | 'too_long' | 'unknown_model' | 'unknown_path' | 'not_allowed'
> {
  override readonly name = 'RequestFault'
  readonly param: string | null

  constructor(kind: RequestFault['kind'], message: string, param: string | null = null) {
    super(kind, message)
    this.param = param
  }
}

const textParts = z.array(z.looseObject({ type: z.literal('text'), text: z.string() }))
const content = z.union([z.string(), textParts.transform((parts) => parts.map(({ text }) => text).join(''))])

const messageSchema = z.discriminatedUnion('role', [
  z.looseObject({ role: z.enum(['system', 'developer']), content }),
  z.looseObject({ role: z.literal('user'), content }),
  z.looseObject({
    role: z.literal('assistant'),
    content: content.nullish(),
    tool_calls: z
      .array(
        z.looseObject({
          id: z.string(),
          type: z.literal('function').default('function'),
          function: z.looseObject({ name: z.string(), arguments: z.string() }),
        }),
      )
      .nullish(),
  }),
  z.looseObject({ role: z.literal('tool'), tool_call_id: z.string(), content }),
])

const toolSchema = z.looseObject({
  type: z.literal('function'),
  function: z.looseObject({
    name: z.string().min(1),
    description: z.string().nullish(),
    parameters: z.record(z.string(), z.json()).nullish(),
  }),
})

const streaming = {
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
}
const sampling = {
  model: z.string(),
  temperature: z.number().min(0).max(10).nullish(),
  seed: z.int().nullish(),
  n: z.int().min(1).max(64).nullish(),
  return_token_ids: z.boolean().nullish(),
  return_tokens_as_token_ids: z.boolean().nullish(),
  // What only one value of is supported: the one that leaves the distribution as it is.
  top_p: z.literal(1).nullish(),
  presence_penalty: z.literal(0).nullish(),
  frequency_penalty: z.literal(0).nullish(),
  logit_bias: z.strictObject({}).nullish(),
  stop: z.tuple([]).nullish(),
}
const count = z.int().min(1).max(1_000_000).nullish()

export const chatSchema = z.looseObject({
  ...sampling,
  ...streaming,
  messages: z.array(messageSchema).min(1),
  tools: z.array(toolSchema).nullish(),
  tool_choice: z.enum(['auto', 'none']).nullish(),
  max_tokens: count,
  max_completion_tokens: count,
  logprobs: z.boolean().nullish(),
  top_logprobs: z.literal(0).nullish(),
  response_format: z.looseObject({ type: z.literal('text') }).nullish(),
})
export type ChatRequest = z.output<typeof chatSchema>

const tokens = z.array(z.int().min(0)).min(1)

export const completionSchema = z.looseObject({
  ...sampling,
  ...streaming,
  prompt: z.union([z.string(), tokens, z.array(z.string()).min(1).max(64), z.array(tokens).min(1).max(64)]),
  max_tokens: count,
  logprobs: z.int().min(0).max(1).nullish(),
  echo: z.literal(false).nullish(),
  suffix: z.literal('').nullish(),
  best_of: z.literal(1).nullish(),
})
export type CompletionRequest = z.output<typeof completionSchema>

/** A request's body. @throws RequestFault naming the parameter */
export function parseRequest<T>(body: unknown, schema: z.ZodType<T>): T {
  const parsed = schema.safeParse(body)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const param = issue?.path.map(String).join('.') ?? ''
  throw new RequestFault(
    'bad_request',
    `${param === '' ? 'the body' : `\`${param}\``}: ${issue?.message ?? 'it cannot be used'}`,
    param === '' ? null : param,
  )
}

/** The conversation of a request. @throws RequestFault */
export function conversationOf({ messages }: ChatRequest): readonly Message[] {
  const names = new Map<string, string>()
  return messages.map((message, index): Message => {
    if (message.role === 'user') return { role: 'user', content: message.content }
    if (message.role === 'assistant') {
      for (const { id, function: called } of message.tool_calls ?? []) names.set(id, called.name)
      return assistantOf(message, index)
    }
    if (message.role !== 'tool') return { role: 'system', content: message.content }
    const name = names.get(message.tool_call_id)
    if (name === undefined)
      throw new RequestFault(
        'bad_request',
        `\`messages.${index}.tool_call_id\`: no message before it has a call "${message.tool_call_id}"`,
        `messages.${index}.tool_call_id`,
      )
    return { role: 'tool', name, content: message.content }
  })
}

function assistantOf(
  message: Extract<ChatRequest['messages'][number], { role: 'assistant' }>,
  index: number,
): AssistantMessage {
  const calls = (message.tool_calls ?? []).map(({ function: { name, arguments: text } }, at) => {
    const call = {
      name,
      arguments: argumentsOf(text, `messages.${index}.tool_calls.${at}.function.arguments`),
    }
    return withExactArguments(call, readExactly(text))
  })
  return {
    role: 'assistant',
    content: message.content ?? '',
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
}

function argumentsOf(text: string, param: string): JsonObject {
  try {
    return z.record(z.string(), z.json()).parse(JSON.parse(text === '' ? '{}' : text))
  } catch {
    throw new RequestFault('bad_request', `\`${param}\`: expected a JSON object as text`, param)
  }
}

/** The tools that the policy may call; none where it is not to call any. */
export function toolsOf({ tools, tool_choice: choice }: ChatRequest): readonly ToolSpec[] {
  if (choice === 'none') return []
  return (tools ?? []).map(({ function: { name, description, parameters } }) => ({
    type: 'function',
    function: {
      name,
      description: description ?? '',
      parameters: parameters ?? { type: 'object', properties: {} },
    },
  }))
}
