/**
 * Tool calls as JSON: where a JSON value ends within a text, and the call that an object means.
 *
 * Invariants
 * - Never throws, whatever the text; time grows with its length at most, and nesting is bounded.
 * - What JSON may say but a plain object cannot safely hold is no call.
 */

import { partOf, readExactly, withExactArguments } from '../../messages/exact-arguments.ts'
import type { JsonObject, JsonValue, ToolCall } from '../../messages/message.ts'

/** Nesting of arguments; no tool asks for more than a handful. */
export const maxDepth = 32

/** What can be wrong with the JSON of a call. */
export type CallProblem = 'not_json' | 'no_name' | 'arguments_not_object' | 'forbidden_key'

export type Scan =
  | { readonly kind: 'value'; readonly end: number }
  | { readonly kind: 'none' | 'unclosed' | 'too_deep' }

/** Finds where the object or list that begins at a place ends, heeding texts and their escapes. */
export function scanJson(text: string, begin: number, opening: '{' | '[' = '{'): Scan {
  if (text[begin] !== opening) return { kind: 'none' }
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

/**
 * The call that the JSON of an object means.
 * @param keys under which its arguments may stand; the first that is there counts
 */
export function interpretCall(json: string, keys: readonly string[] = ['arguments']): InterpretedCall {
  const value = parsed(json)
  return value === undefined ? { problem: 'not_json' } : interpretValue(value, readExactly(json), keys)
}

/** The calls that the JSON of a list of objects means. */
export function interpretCalls(json: string): readonly InterpretedCall[] {
  const value = parsed(json)
  if (!Array.isArray(value)) return [{ problem: 'not_json' }]
  const exact = readExactly(json)
  return value.map((item: JsonValue, index) => interpretValue(item, partOf(exact, index), ['arguments']))
}

/** A call from its parts, as the syntaxes have it that name the tool outside of the JSON. */
export function interpretNamed(name: string, json: string): InterpretedCall {
  const value = parsed(json)
  if (value === undefined || !isObject(value)) return { problem: 'not_json' }
  return interpretValue({ name, arguments: value }, { arguments: readExactly(json) }, ['arguments'])
}

function parsed(json: string): JsonValue | undefined {
  try {
    return JSON.parse(json) as JsonValue
  } catch {
    return undefined
  }
}

/** @param exact the same value with its numbers as they were written */
function interpretValue(value: JsonValue, exact: unknown, keys: readonly string[]): InterpretedCall {
  if (!isObject(value)) return { problem: 'not_json' }
  const fault = findForbidden(value)
  if (fault !== undefined) return { problem: fault }
  const name = Object.hasOwn(value, 'name') ? value.name : undefined
  if (typeof name !== 'string' || name === '') return { problem: 'no_name' }
  const key = keys.find((each) => Object.hasOwn(value, each))
  const given = key === undefined ? {} : value[key]
  if (given === undefined || !isObject(given)) return { problem: 'arguments_not_object' }
  const call = { name, arguments: given }
  return { call: key === undefined ? call : withExactArguments(call, partOf(exact, key)) }
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

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
