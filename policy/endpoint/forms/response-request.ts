/**
 * Requests for responses: their parameters, and their items as the messages of an episode.
 */
import { z } from 'zod'
import type { Message } from '../../../messages/message.ts'
import { Conversation, callOf } from './conversation.ts'
import {
  listOf,
  mostMessages,
  requestOf,
  sampling,
  textOf,
  tokenCount,
  toolsOf,
  unused,
} from './request-body.ts'

const text = textOf('input_text', 'output_text')

export const itemSchema = z.preprocess(
  // A message may leave its type out.
  (item) =>
    typeof item === 'object' && item !== null && !('type' in item) ? { ...item, type: 'message' } : item,
  z.discriminatedUnion('type', [
    z.looseObject({
      type: z.literal('message'),
      role: z.enum(['user', 'assistant', 'system', 'developer']),
      content: text,
    }),
    z.looseObject({
      type: z.literal('function_call'),
      call_id: z.string(),
      name: z.string(),
      arguments: z.string(),
    }),
    z.looseObject({ type: z.literal('function_call_output'), call_id: z.string(), output: text }),
  ]),
)
export type Item = z.output<typeof itemSchema>

const toolSchema = z.looseObject({
  type: z.literal('function'),
  name: z.string().min(1),
  description: z.string().nullish(),
  parameters: z.record(z.string(), z.json()).nullish(),
})

export const responseSchema = requestOf({
  ...sampling,
  model: z.string(),
  input: z
    .union([z.string(), z.array(z.unknown())])
    .transform((input) => (typeof input === 'string' ? [{ role: 'user', content: input }] : input))
    .pipe(listOf(itemSchema, mostMessages))
    .nullish(),
  instructions: z.string().nullish(),
  previous_response_id: z.string().nullish(),
  store: z.boolean().nullish(),
  stream: z.boolean().nullish(),
  tools: toolsOf(toolSchema),
  tool_choice: z.enum(['auto', 'none']).nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  max_output_tokens: tokenCount.nullish(),
  metadata: z.record(z.string(), z.json()).nullish(),
  include: z
    .array(z.string().refine((name) => !name.endsWith('logprobs'), 'this server does not support it'))
    .nullish(),
  top_logprobs: z.literal(0).nullish(),
  truncation: z.literal('disabled').nullish(),
  background: z.literal(false).nullish(),
  text: requestOf({
    format: z.looseObject({ type: z.literal('text') }).nullish(),
    verbosity: z.literal('medium').nullish(),
  }).nullish(),
  reasoning: requestOf({
    effort: z.literal('none').nullish(),
    ...unused('summary', 'generate_summary'),
  }).nullish(),
  ...unused(
    'user',
    'service_tier',
    'safety_identifier',
    'prompt_cache_key',
    'prompt_cache_options',
    'prompt_cache_retention',
    'client_metadata',
    'stream_options',
    // There are no tools of the server's own, whose calls alone it counts.
    'max_tool_calls',
  ),
})

export type ResponseRequest = z.output<typeof responseSchema>

/** @param own the first item of the request itself @throws RequestFault */
export function messagesOf(items: readonly Item[], own: number): readonly Message[] {
  const conversation = new Conversation()
  for (const [index, item] of items.entries()) {
    const path = `input.${index - own}`
    if (item.type === 'function_call')
      conversation.call(item.call_id, callOf(item.name, item.arguments, `${path}.arguments`))
    else if (item.type === 'function_call_output')
      conversation.answer(item.call_id, item.output, `${path}.call_id`)
    else conversation.add({ role: item.role === 'developer' ? 'system' : item.role, content: item.content })
  }
  return conversation.messages
}
