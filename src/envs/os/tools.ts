/**
 * The three tools of the task, named and shaped as AgentBench has them.
 *
 * Invariants
 * - Whatever a call holds, reading it gives an action or the reason why not; it never throws.
 */
import type { ToolSpec } from '../environment.ts'
import { calledName, fieldsOf, quoted } from '../tool-call.ts'

/** The one argument of each tool, always a required string. */
const argumentOf = { bash_action: 'script', answer_action: 'answer', finish_action: 'thought' } as const
export type OsTool = keyof typeof argumentOf

/** Tools with these descriptions. */
export function osTools(descriptions: Readonly<Record<OsTool, string>>): readonly ToolSpec[] {
  return (Object.keys(argumentOf) as OsTool[]).map((name) => ({
    type: 'function',
    function: {
      name,
      description: descriptions[name],
      parameters: {
        type: 'object',
        properties: { [argumentOf[name]]: { type: 'string' } },
        required: [argumentOf[name]],
        additionalProperties: false,
      },
    },
  }))
}

/** A readable call, or what to answer to one that cannot be carried out. */
export type CallReading =
  | { readonly tool: OsTool; readonly text: string; readonly problem?: undefined }
  | { readonly problem: string }

/** Longer scripts than this are refused: no command line takes them. */
export const scriptLimit = 100_000

/** Reads a call as the agent made it, whatever it is. */
export function readCall(call: unknown): CallReading {
  const { name, arguments: given } = fieldsOf(call)
  if (!isTool(name))
    return { problem: `There is no tool ${quote(name)}. Call bash_action, answer_action or finish_action.` }
  const key = argumentOf[name]
  const text = fieldsOf(given)[key]
  if (typeof text !== 'string')
    return { problem: `${name} needs "${key}", a string${text === undefined ? '' : `, not ${quote(text)}`}.` }
  if (name !== 'bash_action') return { tool: name, text }
  if (text.includes('\0')) return { problem: 'The script holds a NUL character, which bash cannot read.' }
  if (text.length > scriptLimit)
    return { problem: `The script is too long: ${text.length} characters, at most ${scriptLimit}.` }
  return { tool: name, text }
}

/** The name to answer a call under. */
export function nameOf(call: unknown): string {
  return calledName(call, 'bash_action')
}

function isTool(name: unknown): name is OsTool {
  return typeof name === 'string' && Object.hasOwn(argumentOf, name)
}

/** A value in quotation marks; a null is called one, not an object. */
function quote(value: unknown): string {
  return quoted(value === null ? 'null' : value)
}
