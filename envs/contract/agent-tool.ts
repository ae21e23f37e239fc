/**
 * A tool that an environment offers: what the agent reads of it, and what a call of it does.
 *
 * Invariants
 * - A tool runs with typed arguments; arguments that do not fit are answered in words and change nothing.
 * - Whatever a call holds, reading it never throws; of a name or value that the agent made up, no more than the limit comes back.
 */
import type { AssistantMessage, JsonObject, ToolSpec } from '../../messages/message.ts'
import type { Ask } from './question.ts'

/** Letters of a made-up name or value that come back to the agent, unless a task says otherwise. */
const quoteLimit = 40

/** The fields of an object; none of what is no object. */
export function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

/**
 * The name to answer a call under.
 * @param unnamed the name where the call has none
 */
export function calledName(call: unknown, unnamed: string, limit = quoteLimit): string {
  const { name } = fieldsOf(call)
  return typeof name === 'string' && name !== '' ? name.slice(0, limit) : unnamed
}

/**
 * A text in quotation marks, cut where it is long; of any other value, its type.
 * @example quoted('open_door') // "open_door"
 * @example quoted(7) // "number"
 */
export function quoted(value: unknown, limit = quoteLimit): string {
  const text = typeof value === 'string' ? value : typeof value
  return `"${text.length > limit ? `${text.slice(0, limit)}…` : text}"`
}

/** The agent's message that makes one call. */
export function calling(name: string, given: JsonObject): AssistantMessage {
  return { role: 'assistant', content: '', tool_calls: [{ name, arguments: given }] }
}

/** The result of a call, or of a message without one. */
export interface Answer {
  readonly reply: string
  /** 0 by default. */
  readonly reward?: number
  /** True ends the episode. */
  readonly done?: boolean
  /** The environment's own facts; the agent does not see them. */
  readonly info?: JsonObject
  /** False where nothing could be done with it. */
  readonly usable?: boolean
  /** Set where the later calls of the same message are not carried out: what each of them is answered. */
  readonly stops?: string
}

/** A tool of episodes whose state is a `Play`. */
export interface AgentTool<Play> {
  readonly spec: ToolSpec
  /** Answers a call, whatever its arguments are. */
  call(given: unknown, play: Play, ask?: Ask): Answer | Promise<Answer>
}

/** The answer to what cannot be carried out. */
export function refused(reply: string): Answer {
  return { reply, usable: false }
}

/** A tool's description in OpenAI's form, all arguments required. @param properties the JSON schema of each argument */
export function toolSpec(
  name: string,
  description: string,
  properties: Readonly<Record<string, JsonObject>>,
): ToolSpec {
  return {
    type: 'function',
    function: {
      name,
      description,
      parameters: {
        type: 'object',
        properties,
        required: Object.keys(properties),
        additionalProperties: false,
      },
    },
  }
}

/** A tool whose arguments are all texts and all required. */
export interface TextTool<Argument extends string, Play> {
  readonly name: string
  readonly description: string
  /** The arguments, each with what it means; an empty meaning is left out. */
  readonly takes: Readonly<Record<Argument, string>>
  readonly run: (given: Readonly<Record<Argument, string>>, play: Play) => Answer | Promise<Answer>
  /** The answer where an argument is no text; names the argument by default. */
  readonly misfit?: (argument: Argument, value: unknown) => string
}

/** A tool whose arguments are texts. */
export function textTool<Argument extends string, Play>({
  name,
  description,
  takes,
  run,
  misfit = (argument, value) => textExpected(name, argument, value),
}: TextTool<Argument, Play>): AgentTool<Play> {
  const meanings: readonly (readonly [string, string])[] = Object.entries(takes)
  const properties = meanings.map(([argument, meaning]) => [
    argument,
    { type: 'string', ...(meaning === '' ? {} : { description: meaning }) },
  ])
  return {
    spec: toolSpec(name, description, Object.fromEntries(properties)),
    call(given, play) {
      const fields = fieldsOf(given)
      const texts: Record<string, string> = {}
      for (const argument in takes) {
        const value = Object.hasOwn(fields, argument) ? fields[argument] : undefined
        if (typeof value !== 'string') return refused(misfit(argument, value))
        texts[argument] = value
      }
      return run(texts as Record<Argument, string>, play)
    },
  }
}

/** That a tool needs a text, and what it was given in its place. */
export function textExpected(tool: string, argument: string, value: unknown): string {
  return `${tool} needs "${argument}", a string${value === undefined ? '' : `, not ${quoted(value)}`}.`
}
