/**
 * Prompts: the words of a request as the tokens of a version.
 *
 * Invariants
 * - [PROMPT-1] A conversation becomes the tokens that an episode with the same messages has: each action closed as it
 *   is there, each turn rendered as there.
 */
import { join } from 'node:path'
import type { AssistantMessage, Message, ToolSpec } from '../../messages/message.ts'
import { type Chat, createChat } from '../chat/chat.ts'
import { readCheckpointText } from '../checkpoints/checkpoint.ts'
import { Tokenizer } from '../tokenizer/tokenizer.ts'

/** Source of a prompt: a conversation, or a text that is used unchanged. */
export type Words =
  | { readonly messages: readonly Message[]; readonly tools: readonly ToolSpec[] }
  | { readonly text: string }

export interface PromptEncoder {
  readonly chat: Chat
  readonly tokenizer: Tokenizer
}

/** @throws CheckpointFault */
export async function openPromptEncoder(checkpointDir: string): Promise<PromptEncoder> {
  const { tokenizer: text, state, modelChat } = await readCheckpointText(checkpointDir)
  const tokenizer = Tokenizer.parse(text, join(checkpointDir, 'tokenizer.json'))
  return { tokenizer, chat: await createChat({ chat: state.chat, modelChat }, tokenizer) }
}

/** The tokens of a prompt; undefined where there are more than `most`. @throws ChatFault `refused` */
export function encodePrompt(
  { chat, tokenizer }: PromptEncoder,
  words: Words,
  most: number,
): Int32Array | undefined {
  if ('text' in words) return tokenizer.encodeWithin([{ text: words.text, trusted: false }], most)
  return encodeMessages(chat, { ...words, before: [] }, most)
}

/** Messages that come after a context. */
interface NewMessages {
  /** The tokens of the context; may be empty. */
  readonly before: ArrayLike<number>
  readonly messages: readonly Message[]
  /** Listed with the first of the messages; undefined: they are known. */
  readonly tools: readonly ToolSpec[] | undefined
  /** The tokens of an answer that was sampled; by default every answer is tokenized. */
  readonly sampledAs?: (message: AssistantMessage) => Int32Array | undefined
}

/** The tokens of messages, to be appended to a context; undefined where there are more than `most`. @throws ChatFault `refused` */
export function encodeMessages(
  chat: Chat,
  { before, messages, tools, sampledAs }: NewMessages,
  most: number,
): Int32Array | undefined {
  const found: number[] = []
  // Rendering asks whether there is a context, and for its last token.
  const context = Array.from(before).slice(-1)
  let turn: Message[] = []
  let isFirst = true
  const grow = (tokens: Int32Array | undefined): boolean => {
    for (const token of tokens ?? []) found.push(token)
    context.push(...found.slice(-1))
    return tokens !== undefined && found.length <= most
  }
  const encodeTurn = (): boolean => {
    const encoded = chat.encodeTurnWithin(most - found.length, context, turn, isFirst ? tools : undefined)
    turn = []
    isFirst = false
    return grow(encoded)
  }
  const encodeAnswer = (message: AssistantMessage): boolean =>
    grow(sampledAs?.(message) ?? chat.encodeAssistantWithin(most - found.length, message))
  for (const message of messages) {
    if (message.role !== 'assistant') turn.push(message)
    else if (!encodeTurn() || !encodeAnswer(message)) return undefined
  }
  return encodeTurn() ? Int32Array.from(found) : undefined
}
