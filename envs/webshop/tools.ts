/**
 * The agent's actions in the shop, by two tools with AgentBench's names.
 *
 * Invariants
 * - An action is read as the original reads the text `search[…]` or `click[…]`, with its limits: of what an
 *   agent writes only the first line counts, and text in brackets within brackets names no action.
 */

export const searchTool = 'search_action'
export const clickTool = 'click_action'

/** An action; texts are in lower case. */
export type ShopAction =
  | { readonly kind: 'search'; readonly keywords: string }
  | { readonly kind: 'click'; readonly value: string }
  /** A call of a tool that the original answers by the same page. */
  | { readonly kind: 'nothing' }

/**
 * The action of the original's text `name[argument]`, which it reads by the expression `(.+)\[(.+)\]`: within one
 * line, from the last bracket that leaves something to the last one that closes.
 */
export function readAction(kind: 'search' | 'click', argument: string): ShopAction {
  const [line = ''] = `${kind}[${argument}]`.split('\n', 1)
  const closing = line.lastIndexOf(']')
  const opening = line.lastIndexOf('[', closing - 2)
  if (closing < 0 || opening !== kind.length) return { kind: 'nothing' }
  const text = line.slice(opening + 1, closing).toLowerCase()
  return kind === 'search' ? { kind, keywords: text } : { kind, value: text }
}

/** The agent's message that searches. */
export function searchCall(keywords: string): { name: string; arguments: { keywords: string } } {
  return { name: searchTool, arguments: { keywords } }
}

/** The agent's message that clicks. */
export function clickCall(value: string): { name: string; arguments: { value: string } } {
  return { name: clickTool, arguments: { value } }
}
