/**
 * The one tool of the household task, named and shaped as AgentBench has it.
 *
 * Invariants
 * - Whatever a call holds, reading it gives a command or the reason why not; it never throws.
 */
import type { ToolSpec } from '../environment.ts'
import { calledName, fieldsOf, quoted } from '../tool-call.ts'

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

/** Reads a call as the agent made it, whatever it is. */
export function readCall(call: unknown): CallReading {
  const { name, arguments: given } = fieldsOf(call)
  if (name !== toolName)
    return { problem: `There is no tool ${quoted(name)}. Call ${toolName} with "action".` }
  const { action } = fieldsOf(given)
  if (typeof action === 'string') return { command: action }
  return {
    problem: `${toolName} needs "action", a string${action === undefined ? '' : `, not ${quoted(action)}`}.`,
  }
}

/** The name to answer a call under. */
export function nameOf(call: unknown): string {
  return calledName(call, toolName)
}
