/**
 * Stored turns of an agent's episode, as the tree of turns and the engine read them.
 *
 * Invariants
 * - An answer that could not be read as an action is known by its whole text, as the program got it.
 */
import type { AssistantMessage, Message } from '../../messages/message.ts'
import { wordsOf } from '../../policy/endpoint/answer-words.ts'
import type { PromptEncoder } from '../../policy/endpoint/prompt-encoder.ts'
import type { StoredAction } from '../../storage/trajectories/actions.ts'
import type { TreeTurn } from './turn-tree.ts'

/** JSON of no tools. */
export const noTools = '[]'

/** A stored turn as one of the tree. @param toolsText JSON of the tools that the policy was shown last */
export function treeTurn(
  action: StoredAction,
  {
    messages,
    toolsText: tools,
    encoder,
  }: {
    readonly messages: readonly Message[]
    readonly toolsText: string
    readonly encoder: PromptEncoder
  },
): TreeTurn {
  const { turn, prompt, tokens, asked, message } = action
  const { content, calls } = wordsOf({ ...encoder, id: '' }, action)
  const isRead = action.problems.length === 0
  const said: AssistantMessage = isRead ? message : { role: 'assistant', content }
  return {
    ...{ turn, messages, prompt, tokens, tools },
    said: calls.length === 0 ? { ...said, tool_calls: [] } : said,
    branch: asked?.branch ?? 0,
    follows: asked?.follows ?? turn - 1,
    request: asked?.request ?? '',
    answer: asked?.answer ?? '',
  }
}

/** The tokens of turns that follow one another, and how many of them each was sampled after. */
export function contextOf(path: readonly TreeTurn[]): {
  readonly context: Int32Array
  readonly borders: readonly number[]
} {
  const context = new Int32Array(
    path.reduce((sum, { prompt, tokens }) => sum + prompt.length + tokens.length, 0),
  )
  const borders: number[] = []
  let at = 0
  for (const { prompt, tokens } of path) {
    context.set(prompt, at)
    borders.push(at + prompt.length)
    context.set(tokens, at + prompt.length)
    at += prompt.length + tokens.length
  }
  return { context, borders }
}
