/** A policy that says what a test lets it say, in the place of one that samples. */
import { Chat } from '../../policy/chat/chat.ts'
import { encodePrompt } from '../../policy/endpoint/prompt-encoder.ts'
import { compactAddedTokens } from '../../policy/templates/compact-template.ts'
import { trainTokenizer } from '../../policy/tokenizer/byte-pair-training.ts'
import { Tokenizer } from '../../policy/tokenizer/tokenizer.ts'
import type { ServedModel, ServedPolicy } from './served-policy.ts'

const tokenizer = Tokenizer.parse(
  trainTokenizer(['a lamp'], { vocabularySize: 320, addedTokens: compactAddedTokens([]) }),
)

export const scriptedModel: ServedModel = {
  id: 'demo@0',
  version: 0,
  contextLength: 16_384,
  checkpointDir: '',
  tokenizer,
  chat: new Chat('compact', tokenizer),
}

/** @param say the text of an answer, from the text of its prompt */
export function scriptedPolicy(
  say: (prompt: string, signal: AbortSignal | undefined) => string | Promise<string>,
): ServedPolicy {
  const { contextLength, chat } = scriptedModel
  return {
    run: 'demo',
    contextLength,
    names: async () => ['demo', 'demo@0'],
    borrow: async (name) =>
      name.startsWith('demo') ? { model: scriptedModel, [Symbol.dispose]: () => undefined } : undefined,
    encode: async (model, words, { most }) => encodePrompt(model, words, most),
    async sample(_, { context }, signal) {
      const text = await say(tokenizer.decode(context), signal)
      const tokens = Int32Array.of(...tokenizer.encode(text), ...chat.stopTokens.slice(0, 1))
      return { tokens, logprobs: new Float32Array(tokens.length), version: 0, finish: 'stop' }
    },
    [Symbol.asyncDispose]: async () => undefined,
  }
}

/** A policy that looks around by the tool `act`, and says what there is when it has seen it. */
export function lookingPolicy(): ServedPolicy {
  const look = '<tool_call>{"name":"act","arguments":{"command":"look"}}</tool_call>'
  return scriptedPolicy((prompt) => (prompt.includes('a lamp') ? 'There is a lamp.' : `I look.${look}`))
}
