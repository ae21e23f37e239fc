/**
 * The seven tools of the knowledge graph task, named and shaped as AgentBench has them.
 *
 * Invariants
 * - Whatever a call holds, reading it gives arguments or the reason why not; it never throws.
 * - All arguments are texts, and all are required.
 */
import type { ToolSpec } from '../environment.ts'
import { calledName, fieldsOf, quoted } from '../tool-call.ts'
import { descriptions } from './prompt.ts'

/** Arguments by tool, in the order of AgentBench's action texts. */
export const toolArguments = {
  get_relations: ['variable'],
  get_neighbors: ['variable', 'relation'],
  intersection: ['variable1', 'variable2'],
  get_attributes: ['variable'],
  argmax: ['variable', 'attribute'],
  argmin: ['variable', 'attribute'],
  count: ['variable'],
} as const

export type ToolName = keyof typeof toolArguments
export const toolNames = Object.keys(toolArguments) as ToolName[]

/** True for the name of a tool. */
export function isToolName(name: unknown): name is ToolName {
  return typeof name === 'string' && Object.hasOwn(toolArguments, name)
}

export const kgTools: readonly ToolSpec[] = toolNames.map((name) => ({
  type: 'function',
  function: {
    name,
    description: descriptions[name],
    parameters: {
      type: 'object',
      properties: Object.fromEntries(toolArguments[name].map((argument) => [argument, { type: 'string' }])),
      required: [...toolArguments[name]],
      additionalProperties: false,
    },
  },
}))

/** A call as it can be carried out; `first` and `second` are its arguments in their order. */
export interface KgCall {
  readonly tool: ToolName
  readonly first: string
  /** Empty for tools of one argument. */
  readonly second: string
}

/** Of a name or value that the agent made up, no more than this comes back to it. */
const quoteLimit = 60

/** A readable call, or what to answer to one that cannot be carried out. */
export function readCall(call: unknown): { readonly call: KgCall } | { readonly problem: string } {
  const { name, arguments: given } = fieldsOf(call)
  if (!isToolName(name))
    return { problem: `There is no function ${quote(name)}. Use ${toolNames.join(', ')}.` }
  const fields = fieldsOf(given)
  const values: string[] = []
  for (const argument of toolArguments[name]) {
    const value = Object.hasOwn(fields, argument) ? fields[argument] : undefined
    if (typeof value !== 'string')
      return {
        problem: `Arguments do not match the function signature. ${name} needs ${signatureOf(name)}, each a string.`,
      }
    values.push(value)
  }
  return { call: { tool: name, first: values[0] ?? '', second: values[1] ?? '' } }
}

/** The name to answer a call under. */
export function nameOf(call: unknown): string {
  return calledName(call, 'get_relations', quoteLimit)
}

/** A text of the agent in quotation marks, cut where it is long. */
export function quote(value: unknown): string {
  return quoted(value, quoteLimit)
}

function signatureOf(name: ToolName): string {
  return toolArguments[name].map((argument) => `"${argument}"`).join(' and ')
}
