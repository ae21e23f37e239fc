/**
 * A model's own chat template, turn by turn: `policy.from` a published folder.
 *
 * transformers renders a whole conversation again for each turn; here a context only grows. So a turn is the part of a rendering after the
 * last action. Messages that the template leaves out or refuses are worded in another way, which `notes` name.
 *
 * Invariants
 * - [MODEL-TEMPLATE-1] Where a template is append-only, the appended tokens of a conversation are those of transformers' rendering of the whole.
 * - [MODEL-TEMPLATE-2] Where it is not, a note names the first difference, and the tokens that were sampled and appended stay.
 * - [MODEL-TEMPLATE-3] Parts that a template cannot render (tools, calls, a system message, two messages in a row) are written into parts that it can.
 * - [MODEL-TEMPLATE-4] Where the prompt for an action opens a thought, an action that is rendered ends it before it says anything.
 */
import type { AssistantMessage, Message, ToolCall, ToolSpec } from '../../messages/message.ts'
import type { TextPart } from '../tokenizer/tokenizer.ts'
import { answerText, callText, toolList } from './hermes-template.ts'
import type { ModelChat } from './model-chat.ts'
import { type GivenToken, OutsideText } from './outside-text.ts'
import { ChatFault, type ChatTemplate, type ContextEnd, own } from './template.ts'
import { differencesOf } from './template-differences.ts'
import { TemplateRendering } from './template-rendering.ts'
import { probeWord, promptLength, type TemplateTraits, traitsOf } from './template-traits.ts'

/** @throws CheckpointFault `foreign` for a template that cannot be used with this tokenizer */
export function modelTemplate(
  model: ModelChat,
  added: readonly (GivenToken & { readonly id: number })[],
): ChatTemplate {
  const rendering = new TemplateRendering(model)
  const ends = added.filter(
    ({ id, content }) => model.ends.includes(id) || content === model.tokens.eos_token,
  )
  const endTexts = ends.map(({ content }) => content)
  const traits = traitsOf({ rendering, added, ends: endTexts })
  const { end, lead, syntax, thoughts } = traits
  const thoughtMarks = thoughts.marks.flatMap(({ opening, closing }) => [opening, closing])
  // Some tokenizers have the marks of thoughts among their special tokens; an agent may write them.
  const sayable = added.map((token) =>
    thoughtMarks.includes(token.content) ? { ...token, special: false } : token,
  )
  const template = new ModelTemplate(rendering, traits, new OutsideText(sayable))
  const marks = new Set(syntax.marks)
  return {
    end,
    otherEnds: endTexts.filter((text) => text !== end),
    controls: [
      end,
      ...sayable
        .filter(({ content, special }) => special && content !== end && !marks.has(content))
        .map(({ content }) => content),
    ],
    notes: [...notesOf(traits), ...differencesOf(template, rendering)],
    parse: (text) =>
      text.startsWith(lead)
        ? syntax.parse(text.slice(lead.length), { marks: thoughts.marks })
        : syntax.parse(text, thoughts),
    turnParts: (messages, before, tools) => template.turnParts(messages, before, tools),
    assistantParts: (message) => template.assistantParts(message),
  }
}

/** Notes on the parts that the template cannot render, and on what takes their place. */
function notesOf(traits: TemplateTraits): string[] {
  const lacking: readonly (readonly [keyof TemplateTraits, string])[] = [
    ['tools', 'lists no tools: they are described in the system message'],
    [
      'calls',
      "writes no tool calls that can be read: they are written in Hermes' form, <tool_call>{…}</tool_call>",
    ],
    ['answers', 'knows no answers of tools: they stand in messages of the user'],
    ['system', 'knows no system message: its text is put before that of the user'],
  ]
  return lacking
    .filter(([trait]) => traits[trait] === false)
    .map(([, words]) => `the model's chat template ${words}`)
}

class ModelTemplate {
  readonly #rendering: TemplateRendering
  readonly #traits: TemplateTraits
  readonly #outside: OutsideText

  constructor(rendering: TemplateRendering, traits: TemplateTraits, outsideText: OutsideText) {
    this.#rendering = rendering
    this.#traits = traits
    this.#outside = outsideText
  }

  /** @throws ChatFault `refused` */
  turnParts(
    messages: readonly Message[],
    before: ContextEnd,
    tools: readonly ToolSpec[] | undefined,
  ): TextPart[] {
    if (before === 'empty')
      return this.#outside.parts(this.#render(this.#fitted(messages, tools), { tools, prompt: true }))
    const later = this.#fitted(tools === undefined ? messages : withTools(messages, tools), undefined, false)
    const text = this.#render([asked, actionBefore(later, this.#traits), ...later], { prompt: true })
    const { end } = this.#traits
    const action = text.lastIndexOf(probeWord)
    const at = text.indexOf(end, action)
    if (action === -1 || at === -1)
      throw new ChatFault(
        'refused',
        "the model's chat template leaves out an action, so that no turn can follow one",
      )
    const parts = this.#outside.parts(text.slice(at + end.length))
    return before === 'cut' ? [own(end), ...parts] : parts
  }

  /** @throws ChatFault `refused` */
  assistantParts(message: AssistantMessage): TextPart[] {
    const { end, endOfThought, thoughts } = this.#traits
    const before = this.#render([asked], { prompt: true })
    const whole = this.#render([asked, this.#said(message)], { prompt: false })
    const rest = whole.slice(promptLength(before, whole, thoughts.open))
    const at = rest.indexOf(end)
    return this.#outside.parts(endOfThought + (at === -1 ? rest + end : rest.slice(0, at + end.length)))
  }

  /** The messages as they can be given to the template, for a whole conversation as transformers would have it. */
  conversation(messages: readonly Message[], tools: readonly ToolSpec[]): string {
    return this.#render(this.#fitted(messages, tools), { tools, prompt: true }).replaceAll('\uFDD0', '')
  }

  #render(
    messages: readonly Message[],
    { tools, prompt }: { readonly tools?: readonly ToolSpec[] | undefined; readonly prompt: boolean },
  ): string {
    const { tools: listed, argumentsAs } = this.#traits
    const guarded = listed ? tools?.map((tool) => this.#guardedTool(tool)) : undefined
    return this.#rendering.render(messages, { tools: guarded, prompt, argumentsAs })
  }

  /** @param isFirst whether the conversation begins with them */
  #fitted(
    messages: readonly Message[],
    tools: readonly ToolSpec[] | undefined,
    isFirst = true,
  ): readonly Message[] {
    const listed =
      isFirst && tools !== undefined && !this.#traits.tools ? withSystem(messages, toolList(tools)) : messages
    const fitted: Message[] = []
    for (const message of listed) this.#fit(message, fitted, isFirst)
    return fitted
  }

  /** Adds a message to those that the template will be given. */
  #fit(message: Message, fitted: Message[], isFirst: boolean): void {
    if (message.role === 'assistant') {
      fitted.push(this.#said(message))
      return
    }
    const last = fitted.at(-1)
    const content = this.#outside.guard(message.content)
    const fitting = this.#canTell(message.role, isFirst && last === undefined)
      ? { ...message, content }
      : { role: 'user' as const, content: message.role === 'tool' ? answerText(content) : content }
    if (fitting.role === 'user' && this.#mustJoin(last))
      fitted[fitted.length - 1] = { ...last, content: `${last.content}\n\n${fitting.content}` }
    else fitted.push(fitting)
  }

  #canTell(role: Exclude<Message['role'], 'assistant'>, isFirst: boolean): boolean {
    const { system, laterSystem, answers } = this.#traits
    if (role === 'system') return isFirst ? system : laterSystem
    return role === 'user' || answers
  }

  /** Whether what the user says next has no place of its own. */
  #mustJoin(last: Message | undefined): last is Exclude<Message, AssistantMessage> {
    const { userAfterUser, userAfterAnswer } = this.#traits
    return (last?.role === 'user' && !userAfterUser) || (last?.role === 'tool' && !userAfterAnswer)
  }

  #guardedTool({ type, function: { name, description, parameters } }: ToolSpec): ToolSpec {
    const outside = this.#outside
    return {
      type,
      function: {
        name: outside.guard(name),
        description: outside.guard(description),
        parameters: outside.guardJson(parameters),
      },
    }
  }

  #guardedCall({ name, arguments: args }: ToolCall): ToolCall {
    return { name: this.#outside.guard(name), arguments: this.#outside.guardJson(args) }
  }

  #said({ role, content, tool_calls: calls = [] }: AssistantMessage): AssistantMessage {
    const said = this.#outside.guardSaid(content)
    if (calls.length === 0) return { role, content: said }
    if (!this.#traits.calls) {
      const texts = calls.map((call) => callText(this.#guardedCall(call)))
      return { role, content: [...(said === '' ? [] : [said]), ...texts].join('\n') }
    }
    if (calls.length > 1 && !this.#traits.severalCalls)
      throw new ChatFault(
        'refused',
        `the model's chat template has one tool call in an action, and this one has ${calls.length}: make one call at a time`,
      )
    return { role, content: said, tool_calls: calls.map((call) => this.#guardedCall(call)) }
  }
}

/** Before an action, whatever it was. */
const asked: Message = { role: 'user', content: 'zqxasked' }

/** An action that these messages can follow. */
function actionBefore(
  messages: readonly Message[],
  { calls, severalCalls }: TemplateTraits,
): AssistantMessage {
  const first = messages.findIndex(({ role }) => role !== 'tool')
  const answers = messages.slice(0, first === -1 ? messages.length : first)
  if (answers.length === 0 || !calls) return { role: 'assistant', content: probeWord }
  const called = (severalCalls ? answers : answers.slice(0, 1)).map((answer) => ({
    name: answer.role === 'tool' ? answer.name : '',
    arguments: { zqxkey: probeWord },
  }))
  return { role: 'assistant', content: '', tool_calls: called }
}

/** Tools that changed within a conversation: a template lists tools only at its beginning. */
function withTools(messages: readonly Message[], tools: readonly ToolSpec[]): readonly Message[] {
  const last = messages.at(-1)
  const list = toolList(tools)
  if (last === undefined || last.role === 'assistant') return [...messages, { role: 'user', content: list }]
  return [...messages.slice(0, -1), { ...last, content: `${last.content}\n\n${list}` }]
}

function withSystem(messages: readonly Message[], text: string): readonly Message[] {
  const [first, ...others] = messages
  return first?.role === 'system'
    ? [{ role: 'system', content: `${first.content}\n\n${text}` }, ...others]
    : [{ role: 'system', content: text }, ...messages]
}
