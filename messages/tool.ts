/**
 * A tool as the agent sees it, and a call of one.
 *
 * Invariants
 * - The arguments of a call are the tool's own matter: nothing here promises that they fit.
 */
import type { JsonObject } from './json.ts'

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
