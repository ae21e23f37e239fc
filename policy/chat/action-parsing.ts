/**
 * From what a policy said to what it does: text to an assistant message with tool calls.
 *
 * Invariants
 * - Never throws, whatever the text; what is wrong comes back as problems, each with a sentence for the agent.
 * - Time grows with the text's length at most, and calls, nesting and length are bounded.
 * - A call is taken only when it is complete: one JSON object with a name, closed by its tag.
 * - Parsing what a template rendered gives the message back (contents without an opening tag of their own).
 */

import { partOf, readExactly, withExactArguments } from '../../messages/exact-arguments.ts'
import type { AssistantMessage, JsonObject, JsonValue, ToolCall } from '../../messages/message.ts'
import { callClosing, callOpening } from './tool-call.ts'

/** What can be wrong with an action. */
export type ActionProblemKind =
  | 'not_json'
  | 'no_name'
  | 'arguments_not_object'
  | 'forbidden_key'
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

/** Characters of one action; a turn's token limit is far below. */
const maxLength = 131_072
/** Nesting of arguments; no tool asks for more than a handful. */
const maxDepth = 32
/** Calls of one action, well-formed or not. */
const maxCalls = 16
const asked = 'Send <tool_call>{"name": "TOOL", "arguments": {"KEY": "VALUE"}}</tool_call>.'

const sentences: Record<ActionProblemKind, string> = {
  not_json: `What stands between <tool_call> and </tool_call> is not one JSON object. ${asked}`,
  no_name: `The tool call has no "name" that is a text. ${asked}`,
  arguments_not_object: `The "arguments" of the tool call are not a JSON object. ${asked}`,
  forbidden_key: `The tool call has a key "__proto__", which is not allowed. ${asked}`,
  unclosed_call: `The tool call does not end with </tool_call>. ${asked}`,
  too_deep: `The tool call nests more than ${maxDepth} levels. ${asked}`,
  too_long: `The message is longer than ${maxLength} characters. Send a shorter one.`,
  too_many_calls: `The message holds more than ${maxCalls} tool calls; the rest is ignored. Send fewer.`,
  control_token: 'The message holds a control token of the conversation. Send only text and tool calls.',
}

/** The problem of a kind, with its sentence. */
export function actionProblem(kind: ActionProblemKind): ActionProblem {
  return { kind, sentence: sentences[kind] }
}

/**
 * Reads an action's text, without the token that ends it. Never throws.
 * @param separator what the template puts between contents and calls
 */
export function parseActionText(text: string, separator: string): ParsedAction {
  if (text.length > maxLength)
    return {
      message: { role: 'assistant', content: text.slice(0, maxLength) },
      problems: [actionProblem('too_long')],
    }
  const contents: string[] = []
  const calls: ToolCall[] = []
  const problems: ActionProblem[] = []
  let at = 0
  for (let count = 0; ; count++) {
    const opening = text.indexOf(callOpening, at)
    contents.push(text.slice(at, opening === -1 ? text.length : opening))
    if (opening === -1) break
    if (count === maxCalls) {
      problems.push(actionProblem('too_many_calls'))
      break
    }
    const read = readCall(text, opening + callOpening.length)
    if ('call' in read) calls.push(read.call)
    else problems.push(actionProblem(read.problem))
    at = read.end
  }
  const message = { role: 'assistant', content: joinContents(contents, separator) } as const
  return { message: calls.length === 0 ? message : { ...message, tool_calls: calls }, problems }
}

/** Text around calls, without the separators that stand for themselves. */
function joinContents(contents: readonly string[], separator: string): string {
  const [before = '', ...others] = contents
  if (others.length === 0) return before
  const first = separator !== '' && before.endsWith(separator) ? before.slice(0, -separator.length) : before
  return [first, ...others.filter((text) => text.trim() !== '')].join('')
}

type ReadCall =
  | { readonly call: ToolCall; readonly end: number }
  | { readonly problem: ActionProblemKind; readonly end: number }

/** Reads the call that starts at a place; `end` is where reading continues. */
function readCall(text: string, start: number): ReadCall {
  const begin = skipBlanks(text, start)
  const scanned = scanObject(text, begin)
  if (scanned.kind !== 'object') {
    const closing = text.indexOf(callClosing, start)
    return {
      problem:
        scanned.kind === 'unclosed' && closing !== -1 ? 'not_json' : problemOfScan[scanned.kind](closing),
      end: closing === -1 ? text.length : closing + callClosing.length,
    }
  }
  const after = skipBlanks(text, scanned.end)
  if (!text.startsWith(callClosing, after)) {
    const closing = text.indexOf(callClosing, start)
    if (closing === -1) return { problem: 'unclosed_call', end: text.length }
    return { problem: 'not_json', end: closing + callClosing.length }
  }
  return { ...interpretCall(text.slice(begin, scanned.end)), end: after + callClosing.length }
}

const problemOfScan: Record<'none' | 'unclosed' | 'too_deep', (closing: number) => ActionProblemKind> = {
  none: (closing) => (closing === -1 ? 'unclosed_call' : 'not_json'),
  unclosed: () => 'unclosed_call',
  too_deep: () => 'too_deep',
}

function skipBlanks(text: string, at: number): number {
  while (at < text.length && ' \n\r\t'.includes(text.charAt(at))) at++
  return at
}

type Scan =
  | { readonly kind: 'object'; readonly end: number }
  | { readonly kind: 'none' | 'unclosed' | 'too_deep' }

/** Finds where the object that begins at a place ends, heeding texts and their escapes. */
function scanObject(text: string, begin: number): Scan {
  if (text[begin] !== '{') return { kind: 'none' }
  let depth = 0
  for (let at = begin; at < text.length; at++) {
    const character = text[at]
    if (character === '"') {
      at++
      while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
    } else if (character === '{' || character === '[') {
      if (++depth > maxDepth) return { kind: 'too_deep' }
    } else if (character === '}' || character === ']') {
      if (--depth === 0) return { kind: 'object', end: at + 1 }
    }
  }
  return { kind: 'unclosed' }
}

function interpretCall(json: string): { readonly call: ToolCall } | { readonly problem: ActionProblemKind } {
  let value: JsonValue
  try {
    value = JSON.parse(json)
  } catch {
    return { problem: 'not_json' }
  }
  if (!isObject(value)) return { problem: 'not_json' }
  const fault = findForbidden(value)
  if (fault !== undefined) return { problem: fault }
  const name = Object.hasOwn(value, 'name') ? value.name : undefined
  if (typeof name !== 'string' || name === '') return { problem: 'no_name' }
  const given = Object.hasOwn(value, 'arguments') ? value.arguments : {}
  if (given === undefined || !isObject(given)) return { problem: 'arguments_not_object' }
  return { call: withExactArguments({ name, arguments: given }, partOf(readExactly(json), 'arguments')) }
}

/** What JSON text may say but a plain JSON object cannot safely hold. Depth is bounded by the scan. */
function findForbidden(value: JsonValue): 'forbidden_key' | 'not_json' | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : 'not_json'
  if (typeof value !== 'object' || value === null) return undefined
  for (const [key, item] of Object.entries(value)) {
    if (key === '__proto__') return 'forbidden_key'
    const fault = findForbidden(item)
    if (fault !== undefined) return fault
  }
  return undefined
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
