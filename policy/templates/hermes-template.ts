/**
 * The template of published checkpoints (ChatML with Hermes tool calls, as Qwen and SmolLM2 use it).
 *
 * Invariants
 * - Tools are listed in the system message; answers of tools stand in user turns.
 * - A line feed follows each ended message and belongs to the next turn, for the policy never samples it.
 */
import type { AssistantMessage, Message, ToolCall, ToolSpec } from '../../messages/message.ts'
import { parseActionText } from '../calls/action-parsing.ts'
import { callClosing, callOpening, spacedCall, spacedJson } from '../calls/call-json.ts'
import type { TextPart } from '../tokenizer/tokenizer.ts'
import { type ChatTemplate, outside, own } from './template.ts'

const start = '<|im_start|>'
const end = '<|im_end|>'

export const beforeTools = `# Tools

You act by calling functions. Their signatures stand within <tools></tools>:
<tools>`
export const afterTools = `
</tools>

For each call, answer with a JSON object of the function's name and arguments within <tool_call></tool_call>:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call>`

/** The template. */
export const hermesTemplate: ChatTemplate = {
  end,
  otherEnds: ['<|endoftext|>'],
  controls: [start, end],
  parse: (text) => parseActionText(text, '\n'),

  turnParts(messages, before, tools) {
    const parts: TextPart[] = []
    if (before !== 'empty') parts.push(own(before === 'cut' ? `${end}\n` : '\n'))
    const [first, ...others] = messages
    if (tools === undefined) {
      parts.push(...messageParts(messages))
    } else if (first?.role === 'system') {
      parts.push(
        own(`${start}system\n`),
        outside(`${first.content}\n\n`),
        ...toolParts(tools),
        own(`${end}\n`),
      )
      parts.push(...messageParts(others))
    } else {
      parts.push(own(`${start}system\n`), ...toolParts(tools), own(`${end}\n`), ...messageParts(messages))
    }
    parts.push(own(`${start}assistant\n`))
    return parts
  },

  assistantParts,
}

function assistantParts(message: AssistantMessage): TextPart[] {
  const parts = [outside(message.content)]
  for (const [i, call] of (message.tool_calls ?? []).entries()) {
    const separator = i > 0 || message.content !== '' ? '\n' : ''
    parts.push(own(`${separator}${callOpening}\n`), outside(spacedCall(call)), own(`\n${callClosing}`))
  }
  parts.push(own(end))
  return parts
}

/** Tools as the system message of this format lists them, for templates that list none. */
export function toolList(tools: readonly ToolSpec[]): string {
  return toolParts(tools)
    .map(({ text }) => text)
    .join('')
}

/** A call as this format writes it. */
export function callText(call: ToolCall): string {
  return `${callOpening}\n${spacedCall(call)}\n${callClosing}`
}

/** An answer of a tool as this format writes it. */
export function answerText(content: string): string {
  return `<tool_response>\n${content}\n</tool_response>`
}

function toolParts(tools: readonly ToolSpec[]): TextPart[] {
  const listed = tools.map(({ type, function: f }) => {
    const { name, description, parameters } = f
    return outside(`\n${spacedJson({ type, function: { name, description, parameters } })}`)
  })
  return [own(beforeTools), ...listed, own(afterTools)]
}

function messageParts(messages: readonly Message[]): TextPart[] {
  const parts: TextPart[] = []
  for (const [i, message] of messages.entries()) {
    if (message.role === 'assistant') {
      parts.push(own(`${start}assistant\n`), ...assistantParts(message), own('\n'))
    } else if (message.role === 'tool') {
      // Answers in a row share one turn.
      if (messages[i - 1]?.role !== 'tool') parts.push(own(`${start}user`))
      parts.push(own('\n<tool_response>\n'), outside(message.content), own('\n</tool_response>'))
      if (messages[i + 1]?.role !== 'tool') parts.push(own(`${end}\n`))
    } else {
      parts.push(own(`${start}${message.role}\n`), outside(message.content), own(`${end}\n`))
    }
  }
  return parts
}
