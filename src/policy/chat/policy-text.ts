/**
 * What a policy reads and writes: messages to tokens and tokens to messages, as its checkpoint says.
 *
 * Invariants
 * - Contexts only grow: a turn's tokens are appended to what was sampled, which is never tokenized anew.
 * - Only the template makes control tokens; text from environments cannot.
 * - Each context ends with the prompt for the next action; an action that was cut is closed first.
 * - `parseAction` never throws, and gives back the message of which `encodeAction` made the tokens.
 */
import { join } from 'node:path'
import type { AssistantMessage, Message, ToolSpec } from '../../envs/environment.ts'
import { type ChatFormat, readCheckpointText } from '../checkpoints/checkpoint.ts'
import { CheckpointFault } from '../checkpoints/checkpoint-fault.ts'
import { type TextPart, Tokenizer } from '../tokenizer/tokenizer.ts'
import { actionProblem, type ParsedAction, parseActionText } from './action-parsing.ts'
import { compactTemplate } from './compact-template.ts'
import { hermesTemplate } from './hermes-template.ts'
import type { ChatTemplate } from './template.ts'

const templates: Record<ChatFormat, ChatTemplate> = { hermes: hermesTemplate, compact: compactTemplate }

/** How the turn stands in its episode. */
export interface TurnPlace {
  /** Whether the context is still empty. */
  readonly first: boolean
  /** Listed with the first turn, where the format lists tools. */
  readonly tools?: readonly ToolSpec[] | undefined
  /** Last token of the context: tells whether the action before was cut. Needed unless `first`. */
  readonly previousToken?: number | undefined
}

/**
 * Opens the text side of a checkpoint, without its weights.
 * @throws CheckpointFault as `readCheckpoint` does
 */
export async function openPolicyText(checkpointDir: string): Promise<PolicyText> {
  const { tokenizer, state } = await readCheckpointText(checkpointDir)
  return new PolicyText(state.chat, Tokenizer.parse(tokenizer, join(checkpointDir, 'tokenizer.json')))
}

export class PolicyText {
  readonly format: ChatFormat
  /** Sampling ends with the first of these. */
  readonly stopTokens: readonly number[]
  readonly #template: ChatTemplate
  readonly tokenizer: Tokenizer
  readonly #endToken: number
  readonly #controlTokens: ReadonlySet<number>

  /** @throws CheckpointFault `foreign` when the tokenizer lacks the format's control tokens */
  constructor(format: ChatFormat, tokenizer: Tokenizer) {
    const template = templates[format]
    const missing = template.controls.filter((control) => tokenizer.addedToken(control) === undefined)
    if (missing.length > 0)
      throw new CheckpointFault(
        'foreign',
        `the tokenizer has no ${missing.join(', ')}, which the chat format "${format}" needs`,
      )
    this.format = format
    this.#template = template
    this.tokenizer = tokenizer
    const ids = (texts: readonly string[]) =>
      texts.map((text) => tokenizer.addedToken(text)).filter((id) => id !== undefined)
    this.#endToken = ids([template.end])[0] as number
    this.stopTokens = ids([template.end, ...template.otherEnds])
    this.#controlTokens = new Set(ids([...template.controls, ...template.otherEnds]))
  }

  /** Tokens of new messages, to be appended to the context; they end with the prompt for an action. */
  encodeObservation(messages: readonly Message[], place: TurnPlace): Int32Array {
    return this.tokenizer.encodeParts(this.#turnParts(messages, place))
  }

  /** The text of which `encodeObservation` makes tokens, for people to read. */
  renderObservation(messages: readonly Message[], place: TurnPlace): string {
    return textOf(this.#turnParts(messages, place))
  }

  #turnParts(messages: readonly Message[], { first, tools, previousToken }: TurnPlace): TextPart[] {
    const before = first ? 'empty' : previousToken === this.#endToken ? 'closed' : 'cut'
    const listed = first && tools !== undefined && tools.length > 0 ? tools : undefined
    return this.#template.turnParts(messages, before, listed)
  }

  /** The tokens that a policy should produce for a message, the end included. */
  encodeAction(message: AssistantMessage): Int32Array {
    return this.tokenizer.encodeParts(this.#template.assistantParts(message))
  }

  /** The text of which `encodeAction` makes tokens. */
  renderAction(message: AssistantMessage): string {
    return textOf(this.#template.assistantParts(message))
  }

  /** What a policy said, from its tokens (with or without the end) or as text. Never throws. */
  parseAction(action: string | ArrayLike<number>): ParsedAction {
    const { end, separator } = this.#template
    if (typeof action === 'string')
      return parseActionText(action.endsWith(end) ? action.slice(0, -end.length) : action, separator)
    const length = action.length
    const ended = length > 0 && this.stopTokens.includes(action[length - 1] as number)
    const said = Array.from(action).slice(0, ended ? length - 1 : length)
    const kept = said.filter((token) => !this.#controlTokens.has(token))
    const parsed = parseActionText(this.tokenizer.decode(kept), separator)
    return kept.length === said.length
      ? parsed
      : { ...parsed, problems: [...parsed.problems, actionProblem('control_token')] }
  }
}

function textOf(parts: readonly TextPart[]): string {
  return parts.map(({ text }) => text).join('')
}
