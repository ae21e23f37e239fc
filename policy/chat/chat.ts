/**
 * A conversation with a policy, token in, token out.
 *
 * Invariants
 * - Contexts only grow: a turn's tokens are appended to what was sampled, which is never tokenized again.
 * - Only the template makes control tokens; text from environments cannot.
 * - Each context ends with the prompt for the next action; an action that was cut is closed first.
 * - `parseAction` never throws, and gives back the message of which `encodeAssistant` made the tokens.
 * - Contexts that were handed out stay as they are.
 */
import { join } from 'node:path'
import type { AssistantMessage, Message, ToolSpec } from '../../messages/message.ts'
import type { ParsedAction } from '../calls/action-parsing.ts'
import { actionProblem } from '../calls/action-problem.ts'
import { readCheckpointText } from '../checkpoints/checkpoint.ts'
import { CheckpointFault } from '../files/checkpoint-fault.ts'
import { type BuiltInFormat, type ChatFormat, chatTemplates } from '../templates/chat-format.ts'
import type { SpokenChat } from '../templates/model-chat.ts'
import type { ChatTemplate, ContextEnd } from '../templates/template.ts'
import { type TextPart, Tokenizer } from '../tokenizer/tokenizer.ts'

/** One step of a worked example: what the agent sees and what it should do. */
export interface DemonstrationStep {
  readonly messages: readonly Message[]
  readonly action: AssistantMessage
  /** The action is there to be recovered from: it is context for what follows, not something to produce. */
  readonly mistake?: boolean
}

/** An example as tokens. */
export interface EncodedDemonstration {
  /** [time] */
  readonly tokens: Int32Array
  /** [time] 1 where the policy should produce the token. */
  readonly lossMask: Uint8Array
}

export class Chat {
  readonly format: ChatFormat
  /** Sampling ends with the first of these. */
  readonly stopTokens: readonly number[]
  /** Notes for people, a sentence each: where a conversation is not rendered as it would be elsewhere. */
  readonly notes: readonly string[]
  readonly #template: ChatTemplate
  readonly #tokenizer: Tokenizer
  readonly #endToken: number
  readonly #controlTokens: ReadonlySet<number>

  /**
   * @param spoken a format that comes with Perdure, or a model's own template
   * @throws CheckpointFault `foreign` when the tokenizer lacks the format's control tokens
   */
  constructor(spoken: BuiltInFormat | ChatTemplate, tokenizer: Tokenizer) {
    const [format, template] =
      typeof spoken === 'string' ? ([spoken, chatTemplates[spoken]] as const) : (['jinja', spoken] as const)
    const missing = template.controls.filter((control) => tokenizer.addedToken(control) === undefined)
    if (missing.length > 0)
      throw new CheckpointFault(
        'foreign',
        `the tokenizer has no ${missing.join(', ')}, which the chat format "${format}" needs`,
      )
    this.format = format
    this.notes = template.notes ?? []
    this.#template = template
    this.#tokenizer = tokenizer
    const ids = (texts: readonly string[]) =>
      texts.map((text) => tokenizer.addedToken(text)).filter((id) => id !== undefined)
    this.#endToken = ids([template.end])[0] as number
    this.stopTokens = ids([template.end, ...template.otherEnds])
    this.#controlTokens = new Set(ids([...template.controls, ...template.otherEnds]))
  }

  /**
   * Tokens of new messages, to be appended to the context; they end with the prompt for an action.
   * @param context the tokens so far, whose last one tells whether the last action was cut; may be empty
   * @param tools listed where the format does so: give them with the first turn and when they change
   */
  encodeTurn(
    context: ArrayLike<number>,
    messages: readonly Message[],
    tools?: readonly ToolSpec[],
  ): Int32Array {
    return this.#tokenizer.encodeParts(this.#turnParts(context, messages, tools))
  }

  /** The same; undefined where it is more than `most` tokens, which is found out without tokenizing all of a long text. */
  encodeTurnWithin(
    most: number,
    context: ArrayLike<number>,
    messages: readonly Message[],
    tools?: readonly ToolSpec[],
  ): Int32Array | undefined {
    return this.#tokenizer.encodeWithin(this.#turnParts(context, messages, tools), most)
  }

  #turnParts(
    context: ArrayLike<number>,
    messages: readonly Message[],
    tools: readonly ToolSpec[] | undefined,
  ): readonly TextPart[] {
    const before =
      context.length === 0 ? 'empty' : context[context.length - 1] === this.#endToken ? 'closed' : 'cut'
    return this.#template.turnParts(messages, before, listed(tools))
  }

  /** The text of which `encodeTurn` makes tokens, for people to read. */
  renderTurn(before: ContextEnd, messages: readonly Message[], tools?: readonly ToolSpec[]): string {
    return textOf(this.#template.turnParts(messages, before, listed(tools)))
  }

  /** The tokens that a policy should produce for a message, the end included. */
  encodeAssistant(message: AssistantMessage): Int32Array {
    return this.#tokenizer.encodeParts(this.#template.assistantParts(message))
  }

  /** The same; undefined where it is more than `most` tokens. */
  encodeAssistantWithin(most: number, message: AssistantMessage): Int32Array | undefined {
    return this.#tokenizer.encodeWithin(this.#template.assistantParts(message), most)
  }

  /** The text of which `encodeAssistant` makes tokens. */
  renderAssistant(message: AssistantMessage): string {
    return textOf(this.#template.assistantParts(message))
  }

  /** A worked example as one sequence, as if the policy had sampled its actions. */
  encodeDemonstration(
    steps: readonly DemonstrationStep[],
    tools?: readonly ToolSpec[],
  ): EncodedDemonstration {
    const tokens: number[] = []
    const mask: number[] = []
    for (const [i, { messages, action, mistake }] of steps.entries()) {
      for (const token of this.encodeTurn(tokens, messages, i === 0 ? tools : undefined)) {
        tokens.push(token)
        mask.push(0)
      }
      for (const token of this.encodeAssistant(action)) {
        tokens.push(token)
        mask.push(mistake === true ? 0 : 1)
      }
    }
    return { tokens: Int32Array.from(tokens), lossMask: Uint8Array.from(mask) }
  }

  /** Reads an action from its tokens (with or without the end) or its text. Never throws. */
  parseAction(action: string | ArrayLike<number>): ParsedAction {
    const { end } = this.#template
    if (typeof action === 'string')
      return this.#template.parse(action.endsWith(end) ? action.slice(0, -end.length) : action)
    const length = action.length
    const ended = length > 0 && this.stopTokens.includes(action[length - 1] as number)
    const said = Array.from(action).slice(0, ended ? length - 1 : length)
    const kept = said.filter((token) => !this.#controlTokens.has(token))
    const parsed = this.#template.parse(this.#tokenizer.decode(kept))
    return kept.length === said.length
      ? parsed
      : { ...parsed, problems: [...parsed.problems, actionProblem('control_token')] }
  }
}

function listed(tools: readonly ToolSpec[] | undefined): readonly ToolSpec[] | undefined {
  return tools?.length === 0 ? undefined : tools
}

function textOf(parts: readonly TextPart[]): string {
  return parts.map(({ text }) => text).join('')
}

/** @throws CheckpointFault `foreign` where the tokenizer or the template cannot be used */
export async function createChat({ chat, modelChat }: SpokenChat, tokenizer: Tokenizer): Promise<Chat> {
  if (chat !== 'jinja') return new Chat(chat, tokenizer)
  if (modelChat === undefined)
    throw new CheckpointFault(
      'foreign',
      'it talks by a template of its own, and there is no chat_template.jinja',
    )
  const { modelTemplate } = await import('../templates/model-template.ts')
  return new Chat(modelTemplate(modelChat, tokenizer.addedTokens), tokenizer)
}

/** @throws CheckpointFault `missing`, `corrupt`, `foreign`, `io` */
export async function openChat(checkpointDir: string): Promise<Chat> {
  const { tokenizer, state, modelChat } = await readCheckpointText(checkpointDir)
  return createChat(
    { chat: state.chat, modelChat },
    Tokenizer.parse(tokenizer, join(checkpointDir, 'tokenizer.json')),
  )
}

/** The tokens of a context and those that come after it. @returns a new array */
export function grownContext(context: Int32Array, more: Int32Array): Int32Array<ArrayBuffer> {
  const grown = new Int32Array(context.length + more.length)
  grown.set(context)
  grown.set(more, context.length)
  return grown
}
