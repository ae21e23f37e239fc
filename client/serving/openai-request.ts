/**
 * Requests in the form of OpenAI's API, read and translated.
 *
 * Invariants
 * - [OPENAI-REQUEST-1] A parameter that would change the answer and is not supported is refused by name, never ignored.
 * - [OPENAI-REQUEST-2] A list is counted, and the depth of a body measured, before the elements are read.
 * - Parameters that say nothing about the answer (`user`, `metadata`, …) are taken and not used.
 * - [NESTING-1] It is measured without recursion, so a value of any depth can be refused before code that recurses reads it.
 */
import { z } from 'zod'
import { Fault, type FaultOptions } from '../../faults/fault.ts'
import { readExactly, withExactArguments } from '../../messages/exact-arguments.ts'
import type { AssistantMessage, JsonObject, Message, ToolSpec } from '../../messages/message.ts'

/** A request that is answered by an error; `param` names what is wrong with it. */
export class RequestFault extends Fault<
  'bad_request' | 'too_large' | 'too_long' | 'unknown_model' | 'unknown_path' | 'no_key' | 'forbidden'
> {
  override readonly name = 'RequestFault'
  readonly param: string | null

  constructor(
    kind: RequestFault['kind'],
    message: string,
    param: string | null = null,
    options?: FaultOptions,
  ) {
    super(kind, message, options)
    this.param = param
  }
}

/** More messages than fit into any context. */
const mostMessages = 65_536

/** More tools than any policy is shown. */
const mostTools = 1024

/** The longest context that a policy may be configured with. */
const mostTokens = 1_048_576

const mostPrompts = 64

/** A list whose elements are read only where there are no more than `most`. */
function listOf<Element extends z.ZodType>(element: Element, most: number) {
  return z.array(z.unknown()).min(1).max(most).pipe(z.array(element))
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
  // Each accepts only the value that leaves the distribution as it is.
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
  messages: listOf(messageSchema, mostMessages),
  tools: z.array(z.unknown()).max(mostTools).pipe(z.array(toolSchema)).nullish(),
  tool_choice: z.enum(['auto', 'none']).nullish(),
  max_tokens: count,
  max_completion_tokens: count,
  logprobs: z.boolean().nullish(),
  top_logprobs: z.literal(0).nullish(),
  response_format: z.looseObject({ type: z.literal('text') }).nullish(),
})

export type ChatRequest = z.output<typeof chatSchema>

/** Read by hand: a schema for each id would take seconds where there are millions. */
const tokenIds = z.custom<readonly number[]>(
  (value) =>
    Array.isArray(value) &&
    value.length <= mostTokens &&
    value.every((id) => Number.isSafeInteger(id) && id >= 0),
)

export const completionSchema = z.looseObject({
  ...sampling,
  ...streaming,
  prompt: z.union([z.string(), tokenIds, listOf(z.string(), mostPrompts), listOf(tokenIds, mostPrompts)]),
  max_tokens: count,
  logprobs: z.int().min(0).max(1).nullish(),
  echo: z.literal(false).nullish(),
  suffix: z.literal('').nullish(),
  best_of: z.literal(1).nullish(),
})

export type CompletionRequest = z.output<typeof completionSchema>

/** The JSON of a body. @throws RequestFault */
export function jsonOf(text: string): unknown {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch (cause) {
    throw new RequestFault('bad_request', 'the body is no JSON', null, { cause })
  }
  if (!isTooDeep(body)) return body
  throw new RequestFault('bad_request', `the body is nested deeper than ${deepestNesting} levels`)
}

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

/** Deeper than any JSON that people or programs write, and far below the depth at which recursive readers overflow. */
const deepestNesting = 128

/** Whether a value holds lists or objects within one another beyond `most` levels; a plain value has none. */
export function isTooDeep(value: unknown, most = deepestNesting): boolean {
  let level = [value].filter(isContainer)
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > most) return true
    level = level.flatMap((container) => Object.values(container).filter(isContainer))
  }
  return false
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
