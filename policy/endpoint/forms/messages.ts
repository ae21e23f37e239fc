/**
 * Anthropic's messages, and the count of their tokens.
 *
 * Invariants
 * - [MESSAGES-1] Blocks become the messages of an episode in their order, and an answer's text and calls become blocks.
 * - [MESSAGES-2] Numbers in calls stay as they were written, both ways.
 * - An answer may have fewer tokens than asked for where the context ends before, as Anthropic's models do it.
 */
import { z } from 'zod'
import { partOf, readExactly, withExactArguments } from '../../../messages/exact-arguments.ts'
import type { Message, ToolSpec } from '../../../messages/message.ts'
import { type AnswerWords, wordsOf } from '../answer-words.ts'
import { type Answered, type Asked, tokensOf } from '../asked.ts'
import { type Failure, RequestFault } from '../request-fault.ts'
import { Conversation, toolOf } from './conversation.ts'
import { eventText, type Form } from './form.ts'
import { newId } from './openai.ts'
import {
  listOf,
  mostMessages,
  parseRequest,
  requestOf,
  sampling,
  textOf,
  tokenCount,
  toolsOf,
  unused,
} from './request-body.ts'

/** Characters of a body that is read a second time for its numbers: some hundred milliseconds at worst. */
const mostExact = 1024 * 1024

const text = textOf('text')

const textBlock = z.looseObject({ type: z.literal('text'), text: z.string() })
const useBlock = z.looseObject({
  type: z.literal('tool_use'),
  id: z.string(),
  name: z.string(),
  input: z.record(z.string(), z.json()),
})
const resultBlock = z.looseObject({
  type: z.literal('tool_result'),
  tool_use_id: z.string(),
  content: text.nullish(),
})

/** Content as blocks; a text is short for one of them. */
function blocksOf<Block extends z.ZodType>(block: Block) {
  const asBlocks = (content: unknown) =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : content
  return z.preprocess(asBlocks, listOf(block, mostMessages))
}

const messageSchema = z.discriminatedUnion('role', [
  z.looseObject({ role: z.literal('system'), content: text }),
  z.looseObject({
    role: z.literal('user'),
    content: blocksOf(z.discriminatedUnion('type', [textBlock, resultBlock])),
  }),
  z.looseObject({
    role: z.literal('assistant'),
    content: blocksOf(z.discriminatedUnion('type', [textBlock, useBlock])),
  }),
])

const toolSchema = z.looseObject({
  type: z.literal('custom').nullish(),
  name: z.string().min(1),
  description: z.string().nullish(),
  input_schema: z.record(z.string(), z.json()),
})

const promptShape = {
  model: z.string(),
  messages: listOf(messageSchema, mostMessages).refine((list) => list.length > 0, 'there are no messages'),
  system: text.nullish(),
  tools: toolsOf(toolSchema),
  tool_choice: z
    .looseObject({ type: z.enum(['auto', 'none']), disable_parallel_tool_use: z.boolean().nullish() })
    .nullish(),
  thinking: z.looseObject({ type: z.enum(['disabled', 'adaptive']) }).nullish(),
  output_config: requestOf({ effort: z.literal('high').nullish() }).nullish(),
  ...unused('cache_control', 'speed', 'user_profile_id', 'workspace_id'),
}
const countSchema = requestOf(promptShape)
const schema = requestOf({
  ...promptShape,
  ...sampling,
  max_tokens: tokenCount,
  stop_sequences: z.tuple([]).nullish(),
  stream: z.boolean().nullish(),
  ...unused('metadata', 'service_tier', 'inference_geo', 'diagnostics'),
})

type MessagesRequest = z.output<typeof schema>
type PromptRequest = z.output<typeof countSchema>

const errors: Pick<Form, 'errorBody' | 'errorEvents' | 'keepAlive'> = {
  errorBody,
  errorEvents: (failure) => eventText(errorBody(failure), 'error'),
  keepAlive: eventText({ type: 'ping' }, 'ping'),
}

export const messagesForm: Form = {
  ...errors,
  path: '/v1/messages',
  read(body, bodyText) {
    const request = parseRequest(body, schema)
    const { max_tokens: maxTokens, temperature, seed, stream } = request
    return {
      asked: {
        ...promptOf(request, bodyText),
        wish: {
          maxTokens,
          isCut: true,
          temperature: temperature ?? 1,
          seed: seed ?? undefined,
          count: 1,
        },
      },
      isStreamed: stream === true,
      write: (answered) => written(request, answered),
    }
  },
}

export const countForm: Form = {
  ...errors,
  path: '/v1/messages/count_tokens',
  read: (body, bodyText) => ({
    asked: { ...promptOf(parseRequest(body, countSchema), bodyText), wish: undefined },
    isStreamed: false,
    write: ({ answers }) => JSON.stringify({ input_tokens: tokensOf(answers).prompt }),
  }),
}

const errorTypes: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  500: 'api_error',
}

function errorBody({ status, message }: Failure): object {
  return { type: 'error', error: { type: errorTypes[status] ?? 'invalid_request_error', message } }
}

/** @throws RequestFault */
function promptOf(request: PromptRequest, bodyText: string): Omit<Asked, 'wish'> {
  const { model, tools, tool_choice: choice } = request
  const shown = choice?.type === 'none' ? [] : (tools ?? [])
  const specs = shown.map(
    ({ name, description, input_schema: parameters }): ToolSpec => toolOf(name, description, parameters),
  )
  return {
    model,
    prompts: [{ messages: conversationOf(request, bodyText), tools: specs }],
    param: 'messages',
  }
}

/** @throws RequestFault */
function conversationOf({ messages, system }: PromptRequest, bodyText: string): readonly Message[] {
  if (messages.at(-1)?.role === 'assistant')
    throw new RequestFault(
      'bad_request',
      `\`messages.${messages.length - 1}.role\`: the last message is the assistant's, and an answer does not continue its text`,
    )
  const exact = exactBody(bodyText, messages)
  const conversation = new Conversation()
  if (system != null) conversation.add({ role: 'system', content: system })
  for (const [index, message] of messages.entries()) {
    const path = ['messages', index, 'content'] as const
    if (message.role === 'system') conversation.add({ role: 'system', content: message.content })
    else if (message.role === 'user') addWords(conversation, message.content, path)
    else addAction(conversation, message.content, partOf(exact, ...path))
  }
  return conversation.messages
}

/** The body with its numbers as they were written, where it has calls. */
function exactBody(text: string, messages: PromptRequest['messages']): unknown {
  const hasCalls = messages.some(({ role }) => role === 'assistant')
  return hasCalls && text.length <= mostExact ? readExactly(text) : undefined
}

/** Answers to calls, and texts as messages between them. */
function addWords(
  conversation: Conversation,
  blocks: Extract<PromptRequest['messages'][number], { role: 'user' }>['content'],
  path: readonly (string | number)[],
): void {
  let said: string | undefined
  const say = (): void => {
    if (said !== undefined) conversation.add({ role: 'user', content: said })
    said = undefined
  }
  for (const [at, block] of blocks.entries()) {
    if (block.type === 'text') said = `${said ?? ''}${block.text}`
    else {
      say()
      const param = [...path, at, 'tool_use_id'].join('.')
      conversation.answer(block.tool_use_id, block.content ?? '', param)
    }
  }
  say()
}

function addAction(
  conversation: Conversation,
  blocks: Extract<PromptRequest['messages'][number], { role: 'assistant' }>['content'],
  exact: unknown,
): void {
  const texts = blocks.map((block) => (block.type === 'text' ? block.text : ''))
  conversation.add({ role: 'assistant', content: texts.join('') })
  for (const [at, block] of blocks.entries()) {
    if (block.type !== 'tool_use') continue
    const { id, name, input } = block
    conversation.call(id, withExactArguments({ name, arguments: input }, partOf(exact, at, 'input')))
  }
}

interface Block {
  readonly type: 'text' | 'tool_use'
  readonly [key: string]: unknown
}

function written(request: MessagesRequest, { model, answers }: Answered): string {
  const [{ prompt, samples } = { prompt: [], samples: [] }] = answers
  const [sample] = samples
  if (sample === undefined) throw new Error('there is no sample')
  const oneCall = request.tool_choice?.disable_parallel_tool_use === true
  const { content, calls, finish } = wordsOf(model, sample, { oneCall })
  const isCut = finish === 'length' && sample.tokens.length < request.max_tokens
  const stops = {
    stop_reason: isCut ? 'model_context_window_exceeded' : stopReasons[finish],
    stop_sequence: null,
  }
  const uses = calls.map((call) => ({ ...call, id: newId('toolu_') }))
  const head = {
    id: newId('msg_'),
    type: 'message',
    role: 'assistant',
    model: request.model,
  }
  const usage = {
    input_tokens: prompt.length,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: sample.tokens.length,
  }
  const hasText = content !== '' || uses.length === 0
  if (request.stream !== true) {
    const blocks: readonly Block[] = [
      ...(hasText ? [{ type: 'text' as const, text: content }] : []),
      ...uses.map(({ id, name, arguments: text }) => ({
        type: 'tool_use' as const,
        id,
        name,
        input: readExactly(text) ?? JSON.parse(text),
      })),
    ]
    return JSON.stringify({ ...head, content: blocks, ...stops, usage })
  }
  const blocks = [
    ...(hasText
      ? [
          [
            { type: 'text', text: '' },
            { type: 'text_delta', text: content },
          ],
        ]
      : []),
    ...uses.map(({ id, name, arguments: text }) => [
      { type: 'tool_use', id, name, input: {} },
      { type: 'input_json_delta', partial_json: text },
    ]),
  ]
  const start = {
    ...head,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...usage, output_tokens: 0 },
  }
  return [
    { type: 'message_start', message: start },
    ...blocks.flatMap(([block, delta], index) => [
      { type: 'content_block_start', index, content_block: block },
      { type: 'content_block_delta', index, delta },
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: stops, usage },
    { type: 'message_stop' },
  ]
    .map((event) => eventText(event, event.type))
    .join('')
}

const stopReasons: Record<AnswerWords['finish'], string> = {
  stop: 'end_turn',
  calls: 'tool_use',
  length: 'max_tokens',
}
