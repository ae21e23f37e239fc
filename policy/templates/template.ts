/**
 * The contract of a chat template: how messages become text, with the template's own part distinguished.
 *
 * Invariants
 * - Text of an environment or an agent is never trusted, so it can hold no control token.
 */

import { Fault } from '../../faults/fault.ts'
import type { AssistantMessage, Message, ToolSpec } from '../../messages/message.ts'
import type { ParsedAction } from '../calls/action-parsing.ts'
import type { TextPart } from '../tokenizer/tokenizer.ts'

/** How the context is before a turn: nothing yet, an ended message, or an action that was cut. */
export type ContextEnd = 'empty' | 'closed' | 'cut'

export interface ChatTemplate {
  /** Ends each message; the token that a policy ends its action with. */
  readonly end: string
  /** Tokens that end an action in published checkpoints too, where the tokenizer has them. */
  readonly otherEnds: readonly string[]
  /** Added tokens that the tokenizer must have. */
  readonly controls: readonly string[]
  /** Notes for people, a sentence each. */
  readonly notes?: readonly string[]
  /** Reads an action from its text without the end. Never throws. */
  parse(text: string): ParsedAction
  /** New messages up to and with the prompt for the next action; `tools` are listed where given. */
  turnParts(
    messages: readonly Message[],
    before: ContextEnd,
    tools: readonly ToolSpec[] | undefined,
  ): TextPart[]
  /** The parts that a policy should produce for a message, with the end. */
  assistantParts(message: AssistantMessage): TextPart[]
}

/** The template's own text. */
export function own(text: string): TextPart {
  return { text, trusted: true }
}

/** Text from outside. */
export function outside(text: string): TextPart {
  return { text, trusted: false }
}

/** `refused`: the model's template refuses the messages; the same messages would be refused again. */
export class ChatFault extends Fault<'refused'> {
  override readonly name = 'ChatFault'
  protected static override readonly permanentKinds = 'all'
}
