/**
 * OpenAI's responses: items in, items out.
 *
 * Invariants
 * - [RESPONSES-1] Items become the messages of an episode in their order; a response that continues an earlier one has its items before
 *   its own, and none of its instructions. It may be one that an endpoint wrote before a restart, once its request was repeated.
 * - [RESPONSES-2] An earlier response that is no longer kept is refused by its id; a request with `store: false` keeps none.
 */
import type { Asked } from '../asked.ts'
import { Recent } from '../recent.ts'
import { type Failure, RequestFault } from '../request-fault.ts'
import { toolOf } from './conversation.ts'
import { commentEvent, eventText, type Form } from './form.ts'
import { errorBody, newId, now } from './openai.ts'
import { parseRequest } from './request-body.ts'
import { type OutputItem, readResponse, responseOf, writtenResponse } from './response-items.ts'
import { type Item, messagesOf, type ResponseRequest, responseSchema } from './response-request.ts'

/** Earlier responses that can be continued, each with all items of its conversation. */
const earlierBounds = { most: 1024, mostCharacters: 32 * 1024 * 1024, ms: 60 * 60 * 1000 }

interface Earlier {
  readonly items: readonly Item[]
  readonly size: number
}

export function responsesForm(): Form {
  const earlier = new Recent<Earlier>(earlierBounds)
  return {
    path: '/v1/responses',
    errorBody,
    errorEvents,
    keepAlive: commentEvent,
    read(body, bodyText) {
      const request = parseRequest(body, responseSchema)
      const before = beforeOf(request, earlier)
      const items = [...before.items, ...(request.input ?? [])]
      const id = newId('resp_')
      // Characters of a conversation are counted with each of its responses, though they share them.
      const keep = (key: string, output: readonly Item[], written: string): void => {
        const size = before.size + bodyText.length + written.length
        if (request.store !== false) earlier.keep(key, { items: [...items, ...output], size }, size)
      }
      return {
        asked: askedOf(request, items),
        isStreamed: request.stream === true,
        write(answered) {
          const response = responseOf(request, answered, id)
          const written = writtenResponse(response, request.stream === true)
          keep(id, response.output.map(itemOf), written)
          return written
        },
        recall(written) {
          const response = readResponse(written)
          keep(response.id, response.output, written)
        },
      }
    },
  }
}

/** @throws RequestFault for a response that is not kept */
function beforeOf({ previous_response_id: id }: ResponseRequest, earlier: Recent<Earlier>): Earlier {
  if (id == null) return { items: [], size: 0 }
  const before = earlier.get(id)
  if (before !== undefined) return before
  throw new RequestFault(
    'unknown_response',
    `the response "${id}" is not kept (any more): send its items as \`input\``,
    'previous_response_id',
  )
}

/** @throws RequestFault */
function askedOf(request: ResponseRequest, items: readonly Item[]): Asked {
  const { model, tools, tool_choice: choice, max_output_tokens: maxTokens, temperature, seed } = request
  const shown = choice === 'none' ? [] : (tools ?? [])
  const messages = messagesOf(items, items.length - (request.input ?? []).length)
  if (messages.length === 0) throw new RequestFault('bad_request', '`input`: there are no items', 'input')
  const { instructions } = request
  return {
    model,
    prompts: [
      {
        messages: [
          ...(instructions == null ? [] : [{ role: 'system' as const, content: instructions }]),
          ...messages,
        ],
        tools: shown.map(({ name, description, parameters }) => toolOf(name, description, parameters)),
      },
    ],
    param: 'input',
    wish: {
      maxTokens: maxTokens ?? undefined,
      temperature: temperature ?? 1,
      seed: seed ?? undefined,
      count: 1,
    },
  }
}

function itemOf(item: OutputItem): Item {
  if (item.type === 'function_call') return item
  return { type: 'message', role: 'assistant', content: item.content.map(({ text }) => text).join('') }
}

function errorEvents({ status, code, message, param }: Failure): string {
  const name = code ?? (status < 500 ? 'invalid_prompt' : 'server_error')
  const response = {
    id: newId('resp_'),
    object: 'response',
    created_at: now(),
    status: 'failed',
    error: { code: name, message },
    output: [],
  }
  return [
    { type: 'error', sequence_number: 0, code: name, message, param },
    { type: 'response.failed', sequence_number: 1, response },
  ]
    .map((event) => eventText(event, event.type))
    .join('')
}
