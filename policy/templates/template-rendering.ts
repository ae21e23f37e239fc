/**
 * Rendering by a model's own Jinja template, as transformers calls it: messages with their calls, tools, the prompt for an answer.
 *
 * Invariants
 * - [RENDERING-1] The same messages give the same text on every day: a template that writes the date gets a fixed date.
 * - [RENDERING-2] A template with carriage returns at its line ends renders the text that it renders with line feeds.
 * - A template that refuses its input, or cannot be read, is a fault that says so.
 */
import { Template } from '@huggingface/jinja'
import { reasonOf } from '../../faults/reason.ts'
import { withLineFeeds } from '../../machine/files/text-file.ts'
import type { JsonValue, Message, ToolSpec } from '../../messages/message.ts'
import { CheckpointFault } from '../files/checkpoint-fault.ts'
import type { ModelChat } from './model-chat.ts'
import { ChatFault } from './template.ts'

/** The day of all conversations, in the numbers that templates ask for. */
const standingDay: Readonly<Record<string, string>> = {
  '%d': '01',
  '%m': '01',
  '%b': 'Jan',
  '%B': 'January',
  '%Y': '2026',
  '%y': '26',
  '%H': '12',
  '%M': '00',
  '%S': '00',
  '%A': 'Thursday',
  '%a': 'Thu',
  '%%': '%',
}

/** The package has a function of that name, which cannot be replaced; so the template calls another one. */
const standingName = 'perdure_standing_day'

/** The input of a rendering beside its messages. */
export interface RenderingOptions {
  readonly tools?: readonly ToolSpec[] | undefined
  /** Whether the prompt for an action follows. */
  readonly prompt: boolean
  /** How arguments of calls are given to the template; some want them as JSON text. */
  readonly argumentsAs: 'object' | 'text'
  /** The agent's thought before it spoke, for templates that have a place for it. */
  readonly thought?: string
}

export class TemplateRendering {
  readonly #template: Template
  /** Texts that the template has in quotes. */
  readonly quoted: readonly string[]
  readonly #tokens: ModelChat['tokens']
  #askedForDate = false

  /** @throws CheckpointFault `foreign` for a template that cannot be read */
  constructor({ template, tokens }: ModelChat) {
    this.#tokens = tokens
    this.quoted = [...template.matchAll(/(['"])(.+?)\1/g)].map(([, , text = '']) => text)
    try {
      // The package knows line feeds only, so that a carriage return would survive where a block trims.
      const source = withLineFeeds(template)
      this.#template = new Template(source.replaceAll(/\bstrftime_now\b/g, standingName))
    } catch (cause) {
      throw new CheckpointFault('foreign', `its chat template cannot be read: ${reasonOf(cause)}`, { cause })
    }
  }

  /** Whether a template has asked for today. */
  get askedForDate(): boolean {
    return this.#askedForDate
  }

  /** @throws ChatFault `refused` */
  render(messages: readonly Message[], { tools, prompt, argumentsAs, thought }: RenderingOptions): string {
    try {
      return this.#template.render({
        ...this.#tokens,
        messages: messages.map((message, at) => ({
          ...given(message, argumentsAs, answersBefore(messages, at)),
          // Both names are in use; transformers gives templates both.
          ...(thought === undefined || message.role !== 'assistant'
            ? {}
            : { reasoning_content: thought, thinking: thought }),
        })),
        tools: tools ?? null,
        documents: null,
        add_generation_prompt: prompt,
        [standingName]: (format: string) => {
          this.#askedForDate = true
          return format.replaceAll(/%[a-zA-Z%]/g, (part) => standingDay[part] ?? part)
        },
      })
    } catch (cause) {
      const roles = messages.map(({ role }) => role).join(', ')
      throw new ChatFault(
        'refused',
        `the model's chat template refuses messages of ${roles}: ${reasonOf(cause)}`,
        {
          cause,
        },
      )
    }
  }
}

/** How many answers of tools stand in a row before a message. */
function answersBefore(messages: readonly Message[], at: number): number {
  let first = at
  while (messages[first - 1]?.role === 'tool') first--
  return at - first
}

/** A message as transformers has it. @param place of an answer, among those to the same message */
function given(
  message: Message,
  argumentsAs: RenderingOptions['argumentsAs'],
  place: number,
): { readonly [key: string]: JsonValue } {
  if (message.role === 'tool') return { ...message, tool_call_id: idOf(place) }
  if (message.role !== 'assistant') return { ...message }
  const { role, content, tool_calls: calls } = message
  if (calls === undefined) return { role, content }
  return {
    role,
    content,
    tool_calls: calls.map(({ name, arguments: args }, index) => ({
      id: idOf(index),
      type: 'function',
      function: { name, arguments: argumentsAs === 'text' ? JSON.stringify(args) : args },
    })),
  }
}

/** Ids of calls, which messages here do not have: letters and digits, as Mistral's templates demand. */
function idOf(index: number): string {
  return `call${String(index).padStart(5, '0')}`
}
