/**
 * From what a policy said to what it does: text to an assistant message with tool calls.
 *
 * Invariants
 * - Never throws, whatever the text; what is wrong comes back as problems, each with a sentence for the agent.
 * - Time grows with the text's length at most, and calls, nesting and length are bounded.
 * - A call is taken only when it is complete: one JSON object with a name, closed by its tag.
 * - Parsing what a template rendered gives the message back (contents without an opening tag of their own).
 */

import type { AssistantMessage, ToolCall } from '../../messages/message.ts'
import {
  type CallProblem,
  type InterpretedCall,
  interpretCall,
  interpretCalls,
  maxDepth,
  scanJson,
  skipBlanks,
} from './call-json.ts'
import { callClosing, callOpening } from './tool-call.ts'

/** What can be wrong with an action. */
export type ActionProblemKind =
  | CallProblem
  | 'unclosed_call'
  | 'too_deep'
  | 'too_long'
  | 'too_many_calls'
  | 'control_token'

/** One thing that is wrong with an action. */
export interface ActionProblem {
  readonly kind: ActionProblemKind
  /** What is wrong and what to send, for the agent to read. */
  readonly sentence: string
}

/** What an action says, and what of it could not be understood. */
export interface ParsedAction {
  /** Text outside of calls, and the calls that are complete. */
  readonly message: AssistantMessage
  readonly problems: readonly ActionProblem[]
}

/** How a syntax of calls is spoken of to the agent. */
export interface CallWords {
  /** Where the JSON of a call stands, as the subject of a sentence. */
  readonly place: string
  /** What a call has to end with. */
  readonly closing: string
  /** A call as it should be sent. */
  readonly example: string
}

/** Characters of one action; a turn's token limit is far below. */
const maxLength = 131_072
/** Calls of one action, well-formed or not. */
export const maxCalls = 16
const hermesWords: CallWords = {
  place: 'What stands between <tool_call> and </tool_call>',
  closing: callClosing,
  example: '<tool_call>{"name": "TOOL", "arguments": {"KEY": "VALUE"}}</tool_call>',
}

/** The problem of a kind, with its sentence. */
export function actionProblem(kind: ActionProblemKind, words: CallWords = hermesWords): ActionProblem {
  return { kind, sentence: sentenceOf(kind, words) }
}

function sentenceOf(kind: ActionProblemKind, { place, closing, example }: CallWords): string {
  const asked = `Send ${example}.`
  switch (kind) {
    case 'not_json':
      return `${place} is not one JSON object. ${asked}`
    case 'no_name':
      return `The tool call has no "name" that is a text. ${asked}`
    case 'arguments_not_object':
      return `The "arguments" of the tool call are not a JSON object. ${asked}`
    case 'forbidden_key':
      return `The tool call has a key "__proto__", which is not allowed. ${asked}`
    case 'unclosed_call':
      return `The tool call does not end with ${closing}. ${asked}`
    case 'too_deep':
      return `The tool call nests more than ${maxDepth} levels. ${asked}`
    case 'too_long':
      return `The message is longer than ${maxLength} characters. Send a shorter one.`
    case 'too_many_calls':
      return `The message holds more than ${maxCalls} tool calls; the rest is ignored. Send fewer.`
    case 'control_token':
      return 'The message holds a control token of the conversation. Send only text and tool calls.'
  }
}

/** What is read of an action that is too long to be read. */
export function tooLong(text: string): ParsedAction | undefined {
  if (text.length <= maxLength) return undefined
  return {
    message: { role: 'assistant', content: text.slice(0, maxLength) },
    problems: [actionProblem('too_long')],
  }
}

/** How Hermes' calls are read. */
interface HermesReading {
  /** What the template puts between contents and calls. */
  readonly separator: string
  /** Whether a tag may hold a list of calls, as SmolLM2 was taught. */
  readonly lists: boolean
}

/**
 * Reads an action's text, without the token that ends it. Never throws.
 * @param separator what the template puts between contents and calls
 */
export function parseActionText(text: string, separator: string): ParsedAction {
  return parseTagged(text, { separator, lists: false })
}

/** Reads an action whose calls stand in Hermes' tags. Never throws. */
export function parseTagged(text: string, { separator, lists }: HermesReading): ParsedAction {
  const refused = tooLong(text)
  if (refused !== undefined) return refused
  const contents: string[] = []
  const calls: ToolCall[] = []
  const problems: ActionProblem[] = []
  let at = 0
  for (let count = 0; ; ) {
    const opening = text.indexOf(callOpening, at)
    contents.push(text.slice(at, opening === -1 ? text.length : opening))
    if (opening === -1) break
    if (count >= maxCalls) {
      problems.push(actionProblem('too_many_calls'))
      break
    }
    const { read, end } = readTag(text, opening + callOpening.length, lists)
    for (const each of read.slice(0, maxCalls - count)) {
      if ('call' in each) calls.push(each.call)
      else problems.push(actionProblem(each.problem))
    }
    if (read.length > maxCalls - count) problems.push(actionProblem('too_many_calls'))
    count += Math.max(1, read.length)
    at = end
  }
  return { message: messageOf(joinContents(contents, separator), calls), problems }
}

/** The message of contents and calls. */
export function messageOf(content: string, calls: readonly ToolCall[]): AssistantMessage {
  const message = { role: 'assistant', content } as const
  return calls.length === 0 ? message : { ...message, tool_calls: calls }
}

/** Text around calls, without the separators that stand for themselves. */
function joinContents(contents: readonly string[], separator: string): string {
  const [before = '', ...others] = contents
  if (others.length === 0) return before
  const first = separator !== '' && before.endsWith(separator) ? before.slice(0, -separator.length) : before
  return [first, ...others.filter((text) => text.trim() !== '')].join('')
}

type ReadCall = InterpretedCall | { readonly problem: ActionProblemKind }

interface ReadTag {
  readonly read: readonly ReadCall[]
  /** Where reading continues. */
  readonly end: number
}

/** Reads the tag that starts at a place. */
function readTag(text: string, start: number, lists: boolean): ReadTag {
  const begin = skipBlanks(text, start)
  const isList = lists && text[begin] === '['
  const scanned = scanJson(text, begin, isList ? '[' : '{')
  const closing = text.indexOf(callClosing, start)
  const afterClosing = closing === -1 ? text.length : closing + callClosing.length
  if (scanned.kind !== 'value') {
    const problem =
      scanned.kind === 'unclosed' && closing !== -1 ? 'not_json' : problemOfScan[scanned.kind](closing)
    return { read: [{ problem }], end: afterClosing }
  }
  const after = skipBlanks(text, scanned.end)
  if (!text.startsWith(callClosing, after))
    return { read: [{ problem: closing === -1 ? 'unclosed_call' : 'not_json' }], end: afterClosing }
  const json = text.slice(begin, scanned.end)
  return {
    read: isList ? interpretCalls(json) : [interpretCall(json)],
    end: after + callClosing.length,
  }
}

const problemOfScan: Record<'none' | 'unclosed' | 'too_deep', (closing: number) => ActionProblemKind> = {
  none: (closing) => (closing === -1 ? 'unclosed_call' : 'not_json'),
  unclosed: () => 'unclosed_call',
  too_deep: () => 'too_deep',
}
