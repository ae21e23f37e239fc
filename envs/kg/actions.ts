/**
 * Gold actions: AgentBench's texts and relation paths as calls, and calls as an agent's messages.
 *
 * Invariants
 * - A call refers only to variables that earlier calls have made, or it is no gold list.
 * - In messages, entities have the names that the agent has read, where they have one.
 */
import type { AssistantMessage } from '../../messages/message.ts'
import { calling } from '../contract/agent-tool.ts'
import type { Question } from './library.ts'
import { isToolName, type KgCall, toolArguments } from './tools.ts'

/** Reads `tool(argument, …)`; undefined for what is no call. The first of two arguments may have commas. */
export function parseAction(text: string): KgCall | undefined {
  const [, tool, inner = ''] = /^\s*(\w+)\((.*)\)\s*$/s.exec(text) ?? []
  if (!isToolName(tool)) return undefined
  if (toolArguments[tool].length === 1) return { tool, first: inner.trim(), second: '' }
  const comma = inner.lastIndexOf(',')
  if (comma === -1) return undefined
  return { tool, first: inner.slice(0, comma).trim(), second: inner.slice(comma + 1).trim() }
}

/** Reads a list of actions; undefined where one is no call or names a variable that is not there yet. */
export function parseActions(texts: readonly string[]): KgCall[] | undefined {
  const calls: KgCall[] = []
  let variables = 0
  for (const text of texts) {
    const call = parseAction(text)
    if (call === undefined) return undefined
    const { first, second } = call
    for (const argument of [first, second]) {
      const index = variableIndex(argument)
      if (index !== undefined && index >= variables) return undefined
    }
    calls.push(call)
    if (makesVariable(call)) variables++
  }
  return variables === 0 ? undefined : calls
}

/** The number in `#3`, undefined for any other text. */
export function variableIndex(text: string): number | undefined {
  const digits = /^#\s*(\d+)$/.exec(text.trim())?.[1]
  return digits === undefined ? undefined : Number(digits)
}

/** True where a successful call makes a variable. */
export function makesVariable({ tool }: KgCall): boolean {
  return tool !== 'get_relations' && tool !== 'get_attributes'
}

/**
 * The calls that follow one path of relations from each entity and intersect where they end.
 * @param paths relations by entity, in the order of the entities
 */
export function callsAlong(paths: readonly { entity: string; relations: readonly string[] }[]): KgCall[] {
  const calls: KgCall[] = []
  let variables = 0
  const make = (call: KgCall): string => {
    calls.push(call)
    return `#${variables++}`
  }
  let answer: string | undefined
  for (const { entity, relations } of paths) {
    let at = entity
    for (const relation of relations) {
      calls.push({ tool: 'get_relations', first: at, second: '' })
      at = make({ tool: 'get_neighbors', first: at, second: relation })
    }
    answer = answer === undefined ? at : make({ tool: 'intersection', first: answer, second: at })
  }
  return calls
}

/** The kind of a question, as generated ones have it: the last operation on sets, or how many relations lead to the answer. */
export function kindOfGold(gold: readonly KgCall[]): string {
  const made = gold.filter(makesVariable)
  const operation = made.findLast(({ tool }) => tool !== 'get_neighbors')?.tool
  if (operation !== undefined) return operation
  return `${['no', 'one', 'two', 'three', 'four', 'five'][made.length] ?? 'many'}_hop`
}

/** The message that makes a call. */
export function messageOf({ tool, first, second }: KgCall): AssistantMessage {
  const [firstName, secondName] = toolArguments[tool]
  return calling(tool, { [firstName]: first, ...(secondName === undefined ? {} : { [secondName]: second }) })
}

/** The messages of an agent that makes the gold calls and answers; undefined without gold. */
export function goldMessages({ gold, entities }: Question): AssistantMessage[] | undefined {
  if (gold === undefined) return undefined
  const names = new Map([...entities].map(([name, id]) => [id, name]))
  const messages = gold.map((call) => messageOf({ ...call, first: names.get(call.first) ?? call.first }))
  const last = gold.filter(makesVariable).length - 1
  return [...messages, { role: 'assistant', content: `Final Answer: #${last}` }]
}
