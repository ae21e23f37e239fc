/**
 * The seven tools of the knowledge graph task, named and shaped as AgentBench has them.
 *
 * Invariants
 * - All arguments are texts, and all are required.
 */
import { type AgentTool, type Answer, quoted, textTool } from '../contract/agent-tool.ts'
import { descriptions } from './wording.ts'

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

/** A call as it can be carried out; `first` and `second` are its arguments in their order. */
export interface KgCall {
  readonly tool: ToolName
  readonly first: string
  /** Empty for tools of one argument. */
  readonly second: string
}

/** The most characters of an invented name or value that are quoted back to the agent. */
export const quoteLimit = 60

/** The tools, each carried out by this function. */
export function kgTools<Play>(
  run: (call: KgCall, play: Play) => Answer | Promise<Answer>,
): readonly AgentTool<Play>[] {
  return toolNames.map((tool) => {
    const [first, second] = toolArguments[tool]
    const takes: Record<string, string> = { [first]: '', ...(second === undefined ? {} : { [second]: '' }) }
    const signature = toolArguments[tool].map((argument) => `"${argument}"`).join(' and ')
    return textTool<string, Play>({
      name: tool,
      description: descriptions[tool],
      takes,
      run: (given, play) =>
        run(
          {
            tool,
            first: given[first] ?? '',
            second: second === undefined ? '' : (given[second] ?? ''),
          },
          play,
        ),
      misfit: () =>
        `Arguments do not match the function signature. ${tool} needs ${signature}, each a string.`,
    })
  })
}

/** A text of the agent in quotation marks, cut where it is long. */
export function quote(value: unknown): string {
  return quoted(value, quoteLimit)
}
