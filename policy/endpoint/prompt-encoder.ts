/**
 * Prompts: the words of a request as the tokens of a version.
 *
 * Invariants
 * - [PROMPT-1] A conversation becomes the tokens that an episode with the same messages has: each action closed as it
 *   is there, each turn rendered as there.
 */
import { join } from 'node:path'
import type { Message, ToolSpec } from '../../messages/message.ts'
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
  const { messages, tools } = words
  const context: number[] = []
  let turn: Message[] = []
  let isFirst = true
  const grow = (tokens: Int32Array | undefined): boolean => {
    for (const token of tokens ?? []) context.push(token)
    return tokens !== undefined
  }
  const encodeTurn = (): boolean => {
    const tokens = chat.encodeTurnWithin(most - context.length, context, turn, isFirst ? tools : undefined)
    turn = []
    isFirst = false
    return grow(tokens)
  }
  for (const message of messages) {
    if (message.role !== 'assistant') turn.push(message)
    else if (!encodeTurn() || !grow(chat.encodeAssistantWithin(most - context.length, message)))
      return undefined
  }
  return encodeTurn() ? Int32Array.from(context) : undefined
}
