/**
 * The two tools of the shop, named and shaped as AgentBench has them.
 *
 * Invariants
 * - Whatever a call holds, reading it gives an action or the reason why not; it never throws.
 * - An action is read as the original reads the text `search[…]` or `click[…]`, with its limits: of what an
 *   agent writes only the first line counts, and text in brackets within brackets names no action.
 */
import type { ToolSpec } from '../environment.ts'
import { calledName, fieldsOf, quoted } from '../tool-call.ts'

const searchTool = 'search_action'
const clickTool = 'click_action'

function toolSpec(name: string, description: string, argument: string, meaning: string): ToolSpec {
  return {
    type: 'function',
    function: {
      name,
      description,
      parameters: {
        type: 'object',
        properties: { [argument]: { type: 'string', description: meaning } },
        required: [argument],
        additionalProperties: false,
      },
    },
  }
}

export const webshopTools: readonly ToolSpec[] = [
  toolSpec(searchTool, 'Searches the shop and shows the results.', 'keywords', 'What to search for.'),
  toolSpec(
    clickTool,
    'Clicks on a button, a product id or an option of the page and shows where it leads.',
    'value',
    'The text to click on, such as "Buy Now".',
  ),
]

/** What an agent does; texts are in lower case. */
export type ShopAction =
  | { readonly kind: 'search'; readonly keywords: string }
  | { readonly kind: 'click'; readonly value: string }
  /** A call of a tool that the original answers by the same page. */
  | { readonly kind: 'nothing' }

/** A readable call, or what to answer to one that cannot be played. */
export type CallReading = { readonly action: ShopAction } | { readonly problem: string }

/** Reads a call as the agent made it, whatever it is. */
export function readCall(call: unknown): CallReading {
  const { name, arguments: given } = fieldsOf(call)
  if (name !== searchTool && name !== clickTool)
    return {
      problem: `There is no tool ${quoted(name)}. Call ${searchTool} with "keywords" or ${clickTool} with "value".`,
    }
  const argument = name === searchTool ? 'keywords' : 'value'
  const { [argument]: text } = fieldsOf(given)
  if (typeof text === 'string') return { action: readAction(name === searchTool ? 'search' : 'click', text) }
  return {
    problem: `${name} needs "${argument}", a string${text === undefined ? '' : `, not ${quoted(text)}`}.`,
  }
}

/**
 * The action of the original's text `name[argument]`, which it reads by the expression `(.+)\[(.+)\]`: within one
 * line, from the last bracket that leaves something to the last one that closes.
 */
function readAction(kind: 'search' | 'click', argument: string): ShopAction {
  const [line = ''] = `${kind}[${argument}]`.split('\n', 1)
  const closing = line.lastIndexOf(']')
  const opening = line.lastIndexOf('[', closing - 2)
  if (closing < 0 || opening !== kind.length) return { kind: 'nothing' }
  const text = line.slice(opening + 1, closing).toLowerCase()
  return kind === 'search' ? { kind, keywords: text } : { kind, value: text }
}

/** The name to answer a call under. */
export function nameOf(call: unknown): string {
  return calledName(call, clickTool)
}

/** The agent's message that searches. */
export function searchCall(keywords: string): { name: string; arguments: { keywords: string } } {
  return { name: searchTool, arguments: { keywords } }
}

/** The agent's message that clicks. */
export function clickCall(value: string): { name: string; arguments: { value: string } } {
  return { name: clickTool, arguments: { value } }
}
