/**
 * Tool calls as text, in the Hermes form: `<tool_call>{"name":…,"arguments":{…}}</tool_call>`.
 */
import type { JsonValue, ToolCall } from '../../messages/message.ts'

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
