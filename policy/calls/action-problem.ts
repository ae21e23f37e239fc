/**
 * Problems of an action: what could not be understood of it, as a name and as a sentence for the agent.
 *
 * Invariants
 * - A sentence shows the form that the model was taught, and repeats nothing that the agent wrote.
 */
import { type CallProblem, callClosing, callOpening, maxDepth } from './call-json.ts'

/** Kinds of problems. */
export type ActionProblemKind =
  | CallProblem
  | 'unclosed_call'
  | 'call_within_text'
  | 'unclosed_thought'
  | 'unopened_thought'
  | 'too_deep'
  | 'too_long'
  | 'too_many_calls'
  | 'control_token'

/** One thing that is wrong with an action. */
export interface ActionProblem {
  readonly kind: ActionProblemKind
  /** Tells the agent the problem and the form to send. */
  readonly sentence: string
}

/** How a form of calls is described to the agent. */
export interface CallWords {
  /** The place for the JSON of a call, as the subject of a sentence. */
  readonly place: string
  /** The end of a call. */
  readonly closing: string
  /** The key of the arguments. */
  readonly key: string
  /** A call as it should be sent. */
  readonly example: string
}

export const hermesWords: CallWords = {
  place: `The text between ${callOpening} and ${callClosing}`,
  closing: callClosing,
  key: 'arguments',
  example: `${callOpening}{"name": "TOOL", "arguments": {"KEY": "VALUE"}}${callClosing}`,
}

/** Characters of one action; a turn's token limit is far below. */
export const maxLength = 131_072
/** Calls of one action, well-formed or not. */
export const maxCalls = 16

/** The problem of a kind, with its sentence. */
export function actionProblem(
  kind: ActionProblemKind,
  { place, closing, key, example }: CallWords = hermesWords,
): ActionProblem {
  const asked = `Send ${example}.`
  const sentences: Record<ActionProblemKind, string> = {
    not_json: `${place} is not a JSON object, or a list of them. ${asked}`,
    no_name: `The tool call has no "name" that is a text. ${asked}`,
    no_arguments: `The tool call has no "${key}". ${asked}`,
    misnamed_arguments: `The arguments of the tool call do not stand under "${key}". ${asked}`,
    arguments_not_object: `The "${key}" of the tool call are not a JSON object. ${asked}`,
    unknown_key: `The tool call has a key besides "name" and "${key}". ${asked}`,
    repeated_key: `The tool call has a key twice. ${asked}`,
    forbidden_key: `The tool call has a key "__proto__", which is not allowed. ${asked}`,
    unclosed_call: `The tool call does not end with ${closing}. ${asked}`,
    call_within_text: `The tool call stands within other text. ${asked}`,
    unclosed_thought: `The thought does not end, so that nothing was said or called. End it, then call a tool. ${asked}`,
    unopened_thought: `The tool call stands before the end of a thought. Call the tool after it. ${asked}`,
    too_deep: `The tool call nests more than ${maxDepth} levels. ${asked}`,
    too_long: `The message is longer than ${maxLength} characters. Send a shorter one.`,
    too_many_calls: `The message holds more than ${maxCalls} tool calls; the rest is ignored. Send fewer.`,
    control_token: 'The message holds a control token of the conversation. Send only text and tool calls.',
  }
  return { kind, sentence: sentences[kind] }
}
