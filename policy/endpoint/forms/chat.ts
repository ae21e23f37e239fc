/** OpenAI's chat completions. */
import { z } from 'zod'
import type { Message } from '../../../messages/message.ts'
import type { SampledTokens } from '../../engines/engine.ts'
import { type AnswerWords, wordsOf } from '../answer-words.ts'
import type { Answered } from '../asked.ts'
import { Conversation, callOf, toolOf } from './conversation.ts'
import type { Form } from './form.ts'
import {
  chatLogprobs,
  chunkEvents,
  completionShape,
  completionStream,
  newId,
  now,
  usageOf,
  wishOf,
} from './openai.ts'
import {
  listOf,
  mostMessages,
  parseRequest,
  requestOf,
  textOf,
  tokenCount,
  toolsOf,
  unused,
} from './request-body.ts'

const content = textOf('text')

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

const schema = requestOf({
  ...completionShape,
  messages: listOf(messageSchema, mostMessages).refine((list) => list.length > 0, 'there are no messages'),
  tools: toolsOf(toolSchema),
  tool_choice: z.enum(['auto', 'none']).nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  max_tokens: tokenCount.nullish(),
  max_completion_tokens: tokenCount.nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.literal(0).nullish(),
  response_format: z.looseObject({ type: z.literal('text') }).nullish(),
  modalities: z.tuple([z.literal('text')]).nullish(),
  reasoning_effort: z.literal('none').nullish(),
  verbosity: z.literal('medium').nullish(),
  // It only makes an answer come sooner.
  ...unused('prediction'),
})

type ChatRequest = z.output<typeof schema>

export const chatForm: Form = {
  ...completionStream,
  path: '/v1/chat/completions',
  read(body) {
    const request = parseRequest(body, schema)
    const { model, tools, tool_choice: choice, stream } = request
    const shown = choice === 'none' ? [] : (tools ?? [])
    return {
      asked: {
        model,
        prompts: [
          {
            messages: conversationOf(request),
            tools: shown.map(({ function: { name, description, parameters } }) =>
              toolOf(name, description, parameters),
            ),
          },
        ],
        param: 'messages',
        wish: wishOf(request, request.max_completion_tokens ?? request.max_tokens ?? undefined),
      },
      isStreamed: stream === true,
      write: (answered) => written(request, answered),
    }
  },
}

function conversationOf({ messages }: ChatRequest): readonly Message[] {
  const conversation = new Conversation()
  for (const [index, message] of messages.entries()) {
    if (message.role === 'tool')
      conversation.answer(message.tool_call_id, message.content, `messages.${index}.tool_call_id`)
    else {
      const role = message.role === 'developer' ? 'system' : message.role
      conversation.add({ role, content: message.content ?? '' })
    }
    if (message.role !== 'assistant') continue
    for (const [at, { id, function: called }] of (message.tool_calls ?? []).entries()) {
      const param = `messages.${index}.tool_calls.${at}.function.arguments`
      conversation.call(id, callOf(called.name, called.arguments, param))
    }
  }
  return conversation.messages
}

function written(request: ChatRequest, { model, answers }: Answered): string {
  const head = {
    id: newId('chatcmpl-'),
    created: now(),
    model: request.model,
    system_fingerprint: model.id,
  }
  const [{ prompt, samples } = { prompt: [], samples: [] }] = answers
  const withIds = request.return_token_ids === true
  const promptIds = withIds ? { prompt_token_ids: [...prompt] } : {}
  const choices = samples.map((sample, index) => choiceOf(request, model, sample, index))
  const usage = usageOf(answers)
  if (request.stream !== true)
    return JSON.stringify({ ...head, object: 'chat.completion', choices, usage, ...promptIds })
  const chunk = { ...head, object: 'chat.completion.chunk' }
  const chunks = choices.flatMap(({ index, message, finish_reason, logprobs, ...tokens }) => {
    const { tool_calls: calls, role, content } = message
    const delta = {
      content,
      ...(calls === undefined ? {} : { tool_calls: calls.map((call, at) => ({ index: at, ...call })) }),
    }
    const first = { index, delta: { role, content: '' }, logprobs: null, finish_reason: null }
    return [
      { ...chunk, ...promptIds, choices: [first] },
      { ...chunk, choices: [{ index, delta, logprobs, finish_reason: null, ...tokens }] },
      { ...chunk, choices: [{ index, delta: {}, logprobs: null, finish_reason }] },
    ]
  })
  return chunkEvents(chunks, request, { ...chunk, choices: [], usage })
}

const finishReasons: Record<AnswerWords['finish'], string> = {
  stop: 'stop',
  calls: 'tool_calls',
  length: 'length',
}

function choiceOf(request: ChatRequest, model: Answered['model'], sample: SampledTokens, index: number) {
  const oneCall = request.parallel_tool_calls === false
  const { content, calls, finish } = wordsOf(model, sample, { oneCall })
  const asIds = request.return_tokens_as_token_ids === true
  return {
    index,
    message: {
      role: 'assistant',
      content: content === '' && calls.length > 0 ? null : content,
      refusal: null,
      ...(calls.length === 0
        ? {}
        : { tool_calls: calls.map((call) => ({ id: newId('call_'), type: 'function', function: call })) }),
    },
    finish_reason: finishReasons[finish],
    logprobs: request.logprobs === true ? chatLogprobs(model, sample, asIds) : null,
    ...(request.return_token_ids === true ? { token_ids: [...sample.tokens] } : {}),
  }
}
