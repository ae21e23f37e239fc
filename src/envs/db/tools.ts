/**
 * The two tools of the database task, named and shaped as AgentBench has them.
 *
 * Invariants
 * - Whatever a call holds, reading it gives a query, answers, or the reason why not; it never throws.
 */
import type { ToolSpec } from '../environment.ts'
import { calledName, fieldsOf, quoted } from '../tool-call.ts'

export const executeTool = 'execute_sql'
export const commitTool = 'commit_final_answer'

export const dbTools: readonly ToolSpec[] = [
  {
    type: 'function',
    function: {
      name: executeTool,
      description: 'Runs one MySQL statement and returns its result.',
      parameters: {
        type: 'object',
        properties: { query: { type: 'string', description: 'The statement.' } },
        required: ['query'],
        additionalProperties: false,
      },
    },
  },
  {
    type: 'function',
    function: {
      name: commitTool,
      description: 'Commits the final answer and ends the task.',
      parameters: {
        type: 'object',
        properties: {
          answers: {
            type: 'array',
            items: { type: 'string' },
            description: 'The values asked for; anything if the task was to change the data.',
          },
        },
        required: ['answers'],
        additionalProperties: false,
      },
    },
  },
]

/** A readable call, or what to answer to one that cannot be carried out. */
export type CallReading =
  | { readonly kind: 'execute'; readonly query: string }
  | { readonly kind: 'commit'; readonly answers: readonly string[] }
  | { readonly kind: 'problem'; readonly problem: string }

/** Reads a call as the agent made it, whatever it is. */
export function readCall(call: unknown): CallReading {
  const { name, arguments: given } = fieldsOf(call)
  const { query, answers } = fieldsOf(given)
  if (name === executeTool)
    return typeof query === 'string'
      ? { kind: 'execute', query }
      : { kind: 'problem', problem: `${executeTool} needs "query", a string.` }
  if (name === commitTool)
    return isListOfStrings(answers)
      ? { kind: 'commit', answers }
      : { kind: 'problem', problem: `${commitTool} needs "answers", a list of strings.` }
  return {
    kind: 'problem',
    problem: `There is no tool ${quoted(name)}. Call ${executeTool} or ${commitTool}.`,
  }
}

/** The name to answer a call under. */
export function nameOf(call: unknown): string {
  return calledName(call, executeTool)
}

function isListOfStrings(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((member) => typeof member === 'string')
}
