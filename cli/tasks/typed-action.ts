/**
 * A typed action: what a person may type for a task's tools, and the call that it makes.
 *
 * Invariants
 * - The task receives a person's text unchanged.
 */
import { z } from 'zod'
import type { AssistantMessage, JsonObject, JsonValue, ToolSpec } from '../../messages/message.ts'

/** Usage shown before the first action. */
export function toolUsage(tools: readonly ToolSpec[]): string {
  const [first, ...others] = tools
  const keys = '"?" lists the possible actions, "quit" leaves.'
  if (first === undefined) return `Type what you say; ${keys}`
  if (others.length === 0) return `Type the ${mainArgumentOf(first) ?? 'call'}; ${keys}`
  const usages = tools.slice(0, shownUsages).map((tool) => `  ${usageOf(tool)}`)
  const more = tools.length > shownUsages ? [`  … ${tools.length - shownUsages} more`] : []
  return [
    'Type the name of a tool and its argument, or all its arguments as JSON:',
    ...usages,
    ...more,
    keys,
  ].join('\n')
}

/** More than that push the problem off the screen. */
const shownUsages = 4

/** @example usageOf(searchTool) // 'search_action <keywords>' */
function usageOf(tool: ToolSpec): string {
  const { name, parameters } = tool.function
  const required = Array.isArray(parameters.required) ? parameters.required.map(String) : []
  const main = mainArgumentOf(tool)
  const shapes = schemasOf(parameters.properties)
  if (
    required.length > 1 ||
    (main !== undefined && ['array', 'object'].includes(String(shapes[main]?.type)))
  ) {
    const given = required.map((key) => `"${key}": ${shapes[key]?.type === 'array' ? '[…]' : '…'}`)
    return `${name} {${given.join(', ')}}`
  }
  return main === undefined ? name : `${name} <${main}>`
}

/** The argument that a plain text gives. */
function mainArgumentOf({ function: { parameters } }: ToolSpec): string | undefined {
  const { required, properties } = parameters
  const main = Array.isArray(required) ? required[0] : Object.keys(properties ?? {})[0]
  return typeof main === 'string' ? main : undefined
}

/** Possible actions: the tools, and the commands that the task lists. */
export function possibilities(tools: readonly ToolSpec[], { admissible, clickables }: JsonObject): string {
  const described = tools.flatMap((tool) => [
    `${tool.function.name}: ${tool.function.description}`,
    ...(tools.length === 1 ? [] : [`  type: ${usageOf(tool)}`]),
  ])
  const listed = admissible ?? clickables
  const commands = Array.isArray(listed) ? listed.map(String) : []
  return [...described, ...commands.map((command) => `  ${command}`)].join('\n')
}

/**
 * Parses typed text into a call. With a single tool the text is its main argument; with
 * several the first word names the tool, in full or up to its first underscore, and a JSON object gives all
 * its arguments. Any other text is a plain message.
 */
export function readAction(line: string, tools: readonly ToolSpec[]): AssistantMessage {
  const [word = ''] = line.split(' ', 1)
  const only = tools.length === 1 ? tools[0] : undefined
  // "take …" may be a command of a single tool take_action: short names are for choosing among several.
  const short =
    only === undefined ? tools.filter(({ function: { name } }) => name.startsWith(`${word}_`)) : []
  const named =
    tools.find((tool) => tool.function.name === word) ?? (short.length === 1 ? short[0] : undefined)
  const tool = named ?? only
  if (tool === undefined) return { role: 'assistant', content: line }
  const text = named === undefined ? line : line.slice(word.length).trim()
  return {
    role: 'assistant',
    content: '',
    tool_calls: [{ name: tool.function.name, arguments: argumentsOf(text, tool) }],
  }
}

function argumentsOf(text: string, tool: ToolSpec): JsonObject {
  if (text.startsWith('{')) {
    try {
      return JSON.parse(text) as JsonObject
    } catch {
      // No JSON after all: it is the main argument.
    }
  }
  const main = mainArgumentOf(tool)
  if (main === undefined) return {}
  return { [main]: isNumber(tool.function.parameters.properties, main) ? numberOr(text) : text }
}

function isNumber(properties: JsonValue | undefined, key: string): boolean {
  return ['number', 'integer'].includes(String(schemasOf(properties)[key]?.type))
}

/** The JSON schema of each argument; empty where it cannot be read. */
function schemasOf(properties: JsonValue | undefined): Readonly<Record<string, { readonly type?: unknown }>> {
  return z.record(z.string(), z.looseObject({ type: z.unknown() })).safeParse(properties).data ?? {}
}

/** The number in a typed text; the text itself where it is no number, for the task to reject. */
function numberOr(text: string): string | number {
  return text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text)
}
