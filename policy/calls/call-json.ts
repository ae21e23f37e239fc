/**
 * Tool calls as JSON: where a JSON value ends within a text, and the calls that a value means.
 *
 * Invariants
 * - Never throws, whatever the text; time grows with its length at most, and nesting is bounded.
 * - [CALL-JSON-1] A call is known by its value, whatever the order of its keys.
 * - [CALL-JSON-2] A call has a name and its arguments. A key that is neither is a problem, as is one that is given twice: no part of a
 *   call is left out.
 */
import { partOf, readExactly, withExactArguments } from '../../messages/exact-arguments.ts'
import type { JsonObject, JsonValue, ToolCall } from '../../messages/message.ts'

/** Nesting of arguments; no tool asks for more than a handful. */
export const maxDepth = 32

/** Problems of a call's JSON. */
export type CallProblem =
  | 'not_json'
  | 'no_name'
  | 'no_arguments'
  | 'misnamed_arguments'
  | 'arguments_not_object'
  | 'unknown_key'
  | 'repeated_key'
  | 'forbidden_key'

/** The keys of a call in a model family's form. */
export interface CallKeys {
  /** Names under which the arguments may stand; the first is the one that the agent is shown. */
  readonly arguments: readonly [string, ...string[]]
  /** Whether a call may have an `id`. */
  readonly id: boolean
}

export type Scan =
  | { readonly kind: 'value'; readonly end: number }
  | { readonly kind: 'none' | 'unclosed' | 'too_deep' }

/** Finds where the object or list that begins at a place ends, heeding texts and their escapes. */
export function scanJson(text: string, begin: number): Scan {
  if (text[begin] !== '{' && text[begin] !== '[') return { kind: 'none' }
  let depth = 0
  for (let at = begin; at < text.length; at++) {
    const character = text[at]
    if (character === '"') {
      at++
      while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
    } else if (character === '{' || character === '[') {
      if (++depth > maxDepth) return { kind: 'too_deep' }
    } else if (character === '}' || character === ']') {
      if (--depth === 0) return { kind: 'value', end: at + 1 }
    }
  }
  return { kind: 'unclosed' }
}

export function skipBlanks(text: string, at: number): number {
  while (at < text.length && ' \n\r\t'.includes(text.charAt(at))) at++
  return at
}

/** A call, or what is wrong with it. */
export type InterpretedCall = { readonly call: ToolCall } | { readonly problem: CallProblem }

/** The calls that the JSON of an object or of a list of objects means; at least one, or a problem. */
export function interpretCalls(json: string, keys: CallKeys): readonly InterpretedCall[] {
  const value = parsed(json)
  const items = Array.isArray(value) ? value : [value]
  if (value === undefined || items.length === 0) return [{ problem: 'not_json' }]
  if (hasRepeatedKey(json)) return [{ problem: 'repeated_key' }]
  const exact = readExactly(json)
  return items.map((item: JsonValue, index) =>
    interpretValue(item, Array.isArray(value) ? partOf(exact, index) : exact, keys),
  )
}

/** A call from its parts, as the syntaxes have it that name the tool outside of the JSON. */
export function interpretNamed(name: string, json: string): InterpretedCall {
  const value = parsed(json)
  if (value === undefined) return { problem: 'not_json' }
  if (hasRepeatedKey(json)) return { problem: 'repeated_key' }
  const exact = { arguments: readExactly(json) }
  return interpretValue({ name, arguments: value }, exact, { arguments: ['arguments'], id: false })
}

/** Keys by which an object that may be anything is known for a call. */
const tellingKeys = ['name', 'parameters', 'arguments']

const tellingText = /["'](?:name|parameters|arguments)["']\s*:/

/** How far into broken JSON a key is looked for. */
const keysWithin = 4096

/** Where JSON that is cut short could still have become an object. */
const beginsObject = /^(?:\[\s*)?(?:$|\{\s*(?:"|$))/

/** Whether an action that begins with a brace or a bracket means calls, be they right or wrong. */
export function meansCalls(text: string, begin: number): boolean {
  const scanned = scanJson(text, begin)
  const value = scanned.kind === 'value' ? parsed(text.slice(begin, scanned.end)) : undefined
  if (value === undefined) {
    const broken = text.slice(begin, scanned.kind === 'value' ? scanned.end : undefined)
    return (
      tellingText.test(broken.slice(0, keysWithin)) ||
      (scanned.kind === 'unclosed' && beginsObject.test(broken))
    )
  }
  const items: readonly JsonValue[] = Array.isArray(value) ? value : [value]
  return items.some(
    (item) =>
      isObject(item) &&
      (tellingKeys.some((key) => Object.hasOwn(item, key)) || ownValue(item, 'type') === 'function'),
  )
}

function parsed(json: string): JsonValue | undefined {
  try {
    return JSON.parse(json) as JsonValue
  } catch {
    return undefined
  }
}

/** Whether an object within valid JSON has a key twice, of which `JSON.parse` would keep the last. */
function hasRepeatedKey(json: string): boolean {
  const open: (Set<string> | undefined)[] = []
  for (const [token, text] of json.matchAll(/("(?:[^"\\]|\\.)*")\s*:|"(?:[^"\\]|\\.)*"|[{}[\]]/gs)) {
    if (token === '{') open.push(new Set())
    else if (token === '[') open.push(undefined)
    else if (token === '}' || token === ']') open.pop()
    else if (text !== undefined) {
      const [keys, key] = [open.at(-1), JSON.parse(text) as string]
      if (keys?.has(key)) return true
      keys?.add(key)
    }
  }
  return false
}

/** Other names that models give to the arguments. */
const misnomers = ['arguments', 'parameters', 'args', 'params', 'input']

/** @param exact the same value with its numbers as they were written */
function interpretValue(value: JsonValue, exact: unknown, keys: CallKeys): InterpretedCall {
  if (!isObject(value)) return { problem: 'not_json' }
  const fault = findForbidden(value)
  if (fault !== undefined) return { problem: fault }
  const name = ownValue(value, 'name')
  if (typeof name !== 'string' || name === '') return { problem: 'no_name' }
  const key = keys.arguments.find((each) => Object.hasOwn(value, each))
  const unknown = Object.keys(value).filter(
    (each) => each !== 'name' && each !== key && !isAbout(value, each, keys),
  )
  if (key === undefined && unknown.some((each) => misnomers.includes(each)))
    return { problem: 'misnamed_arguments' }
  if (unknown.length > 0) return { problem: 'unknown_key' }
  if (key === undefined) return { problem: 'no_arguments' }
  const given = value[key]
  if (given === undefined || !isObject(given)) return { problem: 'arguments_not_object' }
  return { call: withExactArguments({ name, arguments: given }, partOf(exact, key)) }
}

/** Whether a key says only that the object is a call, or which one. */
function isAbout(value: JsonObject, key: string, { id }: CallKeys): boolean {
  if (key === 'type') return value.type === 'function'
  return id && key === 'id' && typeof value.id === 'string'
}

/** Depth is bounded by the scan. */
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

function ownValue(value: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(value, key) ? value[key] : undefined
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Tool calls as text, in the Hermes form: `<tool_call>{"name":…,"arguments":{…}}</tool_call>`. */
export const callOpening = '<tool_call>'

export const callClosing = '</tool_call>'

/** JSON as Python writes it, `", "` and `": "`: what published checkpoints have seen. */
export function spacedJson(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(spacedJson).join(', ')}]`
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${spacedJson(item)}`)
    return `{${entries.join(', ')}}`
  }
  return JSON.stringify(value)
}

/** A call's JSON as published checkpoints write it. */
export function spacedCall(call: ToolCall): string {
  return spacedJson({ name: call.name, arguments: call.arguments })
}
