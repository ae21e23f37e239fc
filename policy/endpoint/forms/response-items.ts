/** The answer to a request for a response: its object, and the events of its stream. */

import { z } from 'zod'
import { wordsOf } from '../answer-words.ts'
import { type Answered, tokensOf } from '../asked.ts'
import { eventText } from './form.ts'
import { newId, now } from './openai.ts'
import { itemSchema, type ResponseRequest } from './response-request.ts'

interface TextPart {
  readonly type: 'output_text'
  readonly text: string
  readonly annotations: readonly never[]
  readonly logprobs: readonly never[]
}

type Status = 'completed' | 'incomplete'

/** An item of an answer. */
export type OutputItem =
  | {
      readonly type: 'message'
      readonly id: string
      readonly role: 'assistant'
      readonly status: Status
      readonly content: readonly TextPart[]
    }
  | {
      readonly type: 'function_call'
      readonly id: string
      readonly call_id: string
      readonly name: string
      readonly arguments: string
      readonly status: Status
    }

export type ResponseObject = ReturnType<typeof responseOf>

export function responseOf(request: ResponseRequest, { model, answers }: Answered, id: string) {
  const [{ samples } = { samples: [] }] = answers
  const [sample] = samples
  if (sample === undefined) throw new Error('there is no sample')
  const oneCall = request.parallel_tool_calls === false
  const { content, calls, finish } = wordsOf(model, sample, { oneCall })
  const status: Status = finish === 'length' ? 'incomplete' : 'completed'
  const output: readonly OutputItem[] = [
    ...(content !== '' || calls.length === 0 ? [messageItem(content, status)] : []),
    ...calls.map((call) => ({
      type: 'function_call' as const,
      id: newId('fc_'),
      call_id: newId('call_'),
      ...call,
      status: 'completed' as const,
    })),
  ]
  const { prompt, completion } = tokensOf(answers)
  return {
    id,
    object: 'response',
    created_at: now(),
    status,
    background: false,
    error: null,
    incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    metadata: request.metadata ?? {},
    model: request.model,
    output,
    parallel_tool_calls: !oneCall,
    previous_response_id: request.previous_response_id ?? null,
    reasoning: { effort: null, summary: null },
    store: request.store !== false,
    temperature: request.temperature ?? 1,
    text: { format: { type: 'text' } },
    tool_choice: request.tool_choice ?? 'auto',
    tools: request.tools ?? [],
    top_p: 1,
    truncation: 'disabled',
    usage: {
      input_tokens: prompt,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens: completion,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: prompt + completion,
    },
  } as const
}

function messageItem(text: string, status: Status): Extract<OutputItem, { type: 'message' }> {
  const part: TextPart = { type: 'output_text', text, annotations: [], logprobs: [] }
  return { type: 'message', id: newId('msg_'), role: 'assistant', status, content: [part] }
}

/** A response as JSON, or as the events of its stream. */
export function writtenResponse(response: ResponseObject, isStreamed: boolean): string {
  if (!isStreamed) return JSON.stringify(response)
  const begun = { ...response, status: 'in_progress', incomplete_details: null, output: [], usage: null }
  return [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    ...response.output.flatMap((item, at) => eventsOf(item, at)),
    { type: `response.${response.status}`, response },
  ]
    .map(({ type, ...rest }, at) => eventText({ type, sequence_number: at, ...rest }, type))
    .join('')
}

const writtenSchema = z.object({ id: z.string(), output: z.array(itemSchema) })

/** Reads the text of `writtenResponse`. */
export function readResponse(written: string): z.output<typeof writtenSchema> {
  // The last event has the whole response.
  const [, event] =
    /^event: .*\ndata: (.*)\n\n$/s.exec(written.slice(written.lastIndexOf('\nevent: ') + 1)) ?? []
  if (event === undefined) return writtenSchema.parse(JSON.parse(written))
  return z.object({ response: writtenSchema }).parse(JSON.parse(event)).response
}

interface Event {
  readonly type: string
  readonly [field: string]: unknown
}

function eventsOf(item: OutputItem, at: number): readonly Event[] {
  const place = { output_index: at, item_id: item.id }
  const begun = { ...item, status: 'in_progress' }
  const events = (empty: object, within: readonly Event[]) => [
    { type: 'response.output_item.added', output_index: at, item: { ...begun, ...empty } },
    ...within,
    { type: 'response.output_item.done', output_index: at, item },
  ]
  if (item.type === 'function_call') {
    const type = 'response.function_call_arguments'
    const { name, arguments: text } = item
    return events({ arguments: '' }, [
      { type: `${type}.delta`, ...place, delta: text },
      { type: `${type}.done`, ...place, name, arguments: text },
    ])
  }
  return events(
    { content: [] },
    item.content.flatMap((part, index) => {
      const inPart = { ...place, content_index: index }
      const { text, logprobs } = part
      return [
        { type: 'response.content_part.added', ...inPart, part: { ...part, text: '' } },
        { type: 'response.output_text.delta', ...inPart, delta: text, logprobs },
        { type: 'response.output_text.done', ...inPart, text, logprobs },
        { type: 'response.content_part.done', ...inPart, part },
      ]
    }),
  )
}
