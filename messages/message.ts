/**
 * A message of an episode: what an environment and the agent say to each other, with the tools and the calls in it.
 *
 * Invariants
 * - The calls of one assistant message are answered by tool messages in their order.
 * - The arguments of a call are the tool's own matter: nothing here promises that they fit.
 */

/** A JSON value. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue }
export type JsonObject = { readonly [key: string]: JsonValue }

/** A function the agent may call, in OpenAI's form; `parameters` is a JSON schema. */
export interface ToolSpec {
  readonly type: 'function'
  readonly function: { readonly name: string; readonly description: string; readonly parameters: JsonObject }
}

/** One call of a tool, arguments already parsed. */
export interface ToolCall {
  readonly name: string
  readonly arguments: JsonObject
  /** JSON text of the arguments, where JavaScript writes a number otherwise: `86.0`, 20-digit integers. */
  readonly exactArguments?: string
}

export interface SystemMessage {
  readonly role: 'system'
  readonly content: string
}
export interface UserMessage {
  readonly role: 'user'
  readonly content: string
}
export interface AssistantMessage {
  readonly role: 'assistant'
  /** Everything that was written outside of calls. */
  readonly content: string
  /** The content without the thoughts in it, where it has some. */
  readonly said?: string
  readonly tool_calls?: readonly ToolCall[]
}
/** The answer to a tool call. */
export interface ToolMessage {
  readonly role: 'tool'
  readonly name: string
  readonly content: string
}
export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage
