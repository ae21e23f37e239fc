/**
 * A chat endpoint in OpenAI's form, asked for one answer as text: `POST URL/chat/completions`.
 *
 * Source: https://platform.openai.com/docs/api-reference/chat/create
 *
 * Invariants
 * - An answer of another form is an `EngineFault` `wrong_answer` that names the endpoint.
 */
import { z } from 'zod'
import { EngineFault } from '../engines/engine.ts'
import { callServer, shown } from './server-call.ts'

export interface ChatEndpoint {
  /** Base address, with `/v1` where it has that. */
  readonly url: string
  readonly model: string
  readonly apiKey: string | undefined
}

export interface ChatWish {
  readonly messages: readonly { readonly role: string; readonly content: string }[]
  readonly temperature: number
  readonly maxTokens: number
  readonly seed: number
  /** Milliseconds until the whole answer is there. */
  readonly answerMs: number
  readonly signal: AbortSignal
}

export interface ChatAnswer {
  readonly text: string
  /** As the endpoint names it. */
  readonly model: string
  /** Null where the endpoint does not say. */
  readonly promptTokens: number | null
  readonly completionTokens: number | null
}

/** The frame of an answer, and for each token more bytes than any has. */
const frameBytes = 2 ** 20
const tokenBytes = 256

const tokens = z.int().min(0).nullish()
const completionSchema = z.object({
  model: z.string().nullish(),
  choices: z
    .array(
      z.object({
        message: z.object({
          content: z.string().nullish(),
          tool_calls: z
            .array(z.object({ function: z.object({ name: z.string(), arguments: z.string() }) }))
            .nullish(),
        }),
      }),
    )
    .min(1),
  usage: z.object({ prompt_tokens: tokens, completion_tokens: tokens }).nullish(),
})

/** @throws EngineFault; the reason of the signal where it aborts */
export async function askEndpoint(
  { url, model, apiKey }: ChatEndpoint,
  { messages, temperature, maxTokens, seed, answerMs, signal }: ChatWish,
): Promise<ChatAnswer> {
  const body = { model, messages, temperature, max_tokens: maxTokens, seed }
  const answered = await callServer(
    { url, path: '/chat/completions', body },
    { apiKey, answerMs, answerBytes: frameBytes + tokenBytes * maxTokens, signal },
  )
  const read = completionSchema.safeParse(answered)
  if (!read.success)
    throw new EngineFault(
      'wrong_answer',
      `${shown(url)} answered in a form that is not that of a chat completion (${z.prettifyError(read.error).replaceAll(/\s+/g, ' ').slice(0, 300)})`,
      { cause: read.error },
    )
  const { choices, usage, model: named } = read.data
  const [choice] = choices
  return {
    text: textOf(choice?.message ?? {}),
    model: named ?? model,
    promptTokens: usage?.prompt_tokens ?? null,
    completionTokens: usage?.completion_tokens ?? null,
  }
}

/** The content, or the first call in place of it. */
function textOf({
  content,
  tool_calls: calls,
}: Partial<z.output<typeof completionSchema>['choices'][number]['message']>): string {
  const [call] = calls ?? []
  return call === undefined
    ? (content ?? '')
    : `{"name":${JSON.stringify(call.function.name)},"arguments":${call.function.arguments}}`
}
