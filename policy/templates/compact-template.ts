/**
 * The template of small policies made from scratch: as few tokens as possible.
 *
 * Invariants
 * - One token starts a message of a role, one ends it; tools are not listed.
 * - Text stays the Hermes form; a call of a tool with one text argument costs two tokens around it.
 */
import type { AssistantMessage, Message, ToolCall, ToolSpec } from '../../messages/message.ts'
import { parseActionText } from '../calls/action-parsing.ts'
import { callClosing, callOpening } from '../calls/call-json.ts'
import type { AddedToken } from '../tokenizer/byte-pair-training.ts'
import type { TextPart } from '../tokenizer/tokenizer.ts'
import { type ChatTemplate, outside, own } from './template.ts'

const starts: Record<Message['role'], string> = {
  system: '<|system|>',
  user: '<|user|>',
  assistant: '<|assistant|>',
  tool: '<|tool|>',
}
const end = '<|end|>'
const controls = [...Object.values(starts), end]

const objectClosing = `}}${callClosing}`
const textClosing = `"${objectClosing}`

function objectOpening(name: string): string {
  return `${callOpening}{"name":${JSON.stringify(name)},"arguments":{`
}

function textOpening(name: string, key: string): string {
  return `${objectOpening(name)}${JSON.stringify(key)}:"`
}

/** The tokens that a tokenizer for this template needs, and those that make calls of these tools short. */
export function compactAddedTokens(tools: readonly ToolSpec[]): AddedToken[] {
  const openings = tools.map(({ function: { name, parameters } }) => {
    const key = onlyTextParameter(parameters)
    return key === undefined ? objectOpening(name) : textOpening(name, key)
  })
  return [
    ...controls.map((content) => ({ content, special: true })),
    ...[...new Set([...openings, textClosing, objectClosing])].map((content) => ({
      content,
      special: false,
    })),
  ]
}

function onlyTextParameter(parameters: ToolSpec['function']['parameters']): string | undefined {
  const { properties } = parameters
  if (typeof properties !== 'object' || properties === null) return undefined
  const [only, ...others] = Object.entries(properties)
  if (only === undefined || others.length > 0) return undefined
  const [key, schema] = only
  return typeof schema === 'object' && schema !== null && 'type' in schema && schema.type === 'string'
    ? key
    : undefined
}

/** The template. */
export const compactTemplate: ChatTemplate = {
  end,
  otherEnds: [],
  controls,
  parse: (text) => parseActionText(text, ''),

  turnParts(messages, before) {
    const parts: TextPart[] = []
    if (before === 'cut') parts.push(own(end))
    for (const message of messages) {
      parts.push(own(starts[message.role]))
      if (message.role === 'assistant') parts.push(...assistantParts(message))
      else parts.push(outside(message.content), own(end))
    }
    parts.push(own(starts.assistant))
    return parts
  },

  assistantParts,
}

function assistantParts(message: AssistantMessage): TextPart[] {
  return [outside(message.content), ...(message.tool_calls ?? []).flatMap(callParts), own(end)]
}

function callParts(call: ToolCall): TextPart[] {
  const [only, ...others] = Object.entries(call.arguments)
  if (only !== undefined && others.length === 0 && typeof only[1] === 'string')
    return [
      opening(textOpening(call.name, only[0]), call.name + only[0]),
      outside(escapedText(only[1])),
      own(textClosing),
    ]
  const inner = JSON.stringify(call.arguments).slice(1, -1)
  const start = opening(objectOpening(call.name), call.name)
  // A last argument that is a text ends with the quote that the closing token begins with.
  return inner.endsWith('"')
    ? [start, outside(inner.slice(0, -1)), own(textClosing)]
    : [start, outside(inner), own(objectClosing)]
}

/** An opening is the template's own only where its names could not hide a control token. */
function opening(text: string, names: string): TextPart {
  return /^[\w.-]+$/.test(names) ? own(text) : outside(text)
}

function escapedText(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}
