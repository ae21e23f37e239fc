/** A session over a store, whose policy says what a test lets it say. */
import type { EpisodeId } from '../../identity/identity.ts'
import { parseEpisodeId } from '../../identity/identity.ts'
import { Chat } from '../../policy/chat/chat.ts'
import type { FormRequest } from '../../policy/endpoint/endpoint.ts'
import { chatForm } from '../../policy/endpoint/forms/chat.ts'
import type { Form } from '../../policy/endpoint/forms/form.ts'
import type { SamplingRequest } from '../../policy/engines/engine.ts'
import { compactAddedTokens } from '../../policy/templates/compact-template.ts'
import { trainTokenizer } from '../../policy/tokenizer/byte-pair-training.ts'
import { Tokenizer } from '../../policy/tokenizer/tokenizer.ts'
import type { Store } from '../../storage/store.ts'
import type { AgentLimits } from './agent-limits.ts'
import { AgentSession } from './agent-session.ts'

const tokenizer = Tokenizer.parse(
  trainTokenizer(['look around, take the lamp'], {
    vocabularySize: 320,
    addedTokens: compactAddedTokens([]),
  }),
)
export const encoder = { tokenizer, chat: new Chat('compact', tokenizer) }

export interface ScriptedSession {
  readonly session: AgentSession
  /** Requests to the engine, in order. */
  readonly sampled: readonly SamplingRequest[]
}

/** @param say the text of the n-th answer that is sampled; by default `answer N` */
export async function openSession(
  store: Store,
  episode: EpisodeId,
  {
    say = (count) => `answer ${count}`,
    limits,
    attempt = 1,
  }: {
    readonly say?: (count: number) => string | Promise<string>
    readonly limits?: Partial<AgentLimits>
    readonly attempt?: number
  } = {},
): Promise<ScriptedSession> {
  const sampled: SamplingRequest[] = []
  const session = await AgentSession.open({
    ...{ episode, store, encoder, attempt, temperature: 0.8 },
    run: parseEpisodeId(episode).run,
    serving: {
      async sample(_, request) {
        sampled.push(request)
        const text = await say(sampled.length)
        const tokens = Int32Array.of(...tokenizer.encode(text), ...encoder.chat.stopTokens.slice(0, 1))
        return {
          tokens,
          logprobs: tokens.length > 0 ? Float32Array.from(tokens, () => -0.5) : new Float32Array(),
          version: 3,
          finish: 'stop',
        }
      },
      release: () => undefined,
    },
    limits: { turnLimit: 20, tokenLimit: 100_000, contextLength: 1024, maxTokens: 64, ...limits },
    draw: async (branch, turn) => ({ version: 3, exactVersion: false, seed: 100 * branch + turn }),
  })
  return { session, sampled }
}

/** A request as the endpoint reads it. */
export function requestOf(body: object, form: Form = chatForm): FormRequest {
  const text = JSON.stringify(body)
  const signal = new AbortController().signal
  return { ...form.read(body, text), form, text, credential: undefined, signal }
}

/** Asks for an answer to messages. @returns its body */
export function ask(
  { session }: Pick<ScriptedSession, 'session'>,
  messages: readonly object[],
  more = {},
): Promise<string> {
  return session.answer(requestOf({ model: 'any', messages, ...more }))
}

/** The message in the body of an answer. */
export function messageIn(body: string): { readonly role: string; readonly content: string } {
  return JSON.parse(body).choices[0].message
}
