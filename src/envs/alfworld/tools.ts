/**
 * The one tool of the household task, named and shaped as AgentBench has it.
 *
 * Invariants
 * - Whatever a call holds, reading it gives a command or the reason why not; it never throws.
 */
import type { ToolSpec } from '../environment.ts'

const toolName = 'take_action'

export const householdTools: readonly ToolSpec[] = [
  {
    type: 'function',
    function: {
      name: toolName,
      description: 'Plays one command in the household and returns what happens.',
      parameters: {
        type: 'object',
        properties: { action: { type: 'string', description: 'The command, such as "look".' } },
        required: ['action'],
        additionalProperties: false,
      },
    },
  },
]

/** A readable call, or what to answer to one that cannot be played. */
export type CallReading = { readonly command: string } | { readonly problem: string }

// Of a name or value that the agent made up, no more than this comes back to it.
const quoteLimit = 40

/** Reads a call as the agent made it, whatever it is. */
export function readCall(call: unknown): CallReading {
  const { name, arguments: given } = fieldsOf(call)
  if (name !== toolName)
    return { problem: `There is no tool ${quote(name)}. Call ${toolName} with "action".` }
  const { action } = fieldsOf(given)
  if (typeof action === 'string') return { command: action }
  return {
    problem: `${toolName} needs "action", a string${action === undefined ? '' : `, not ${quote(action)}`}.`,
  }
}

/** The name to answer a call under. */
export function nameOf(call: unknown): string {
  const { name } = fieldsOf(call)
  return typeof name === 'string' && name !== '' ? name.slice(0, quoteLimit) : toolName
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function quote(value: unknown): string {
  const text = typeof value === 'string' ? value : typeof value
  return `"${text.length > quoteLimit ? `${text.slice(0, quoteLimit)}…` : text}"`
}
