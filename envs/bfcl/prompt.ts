/**
 * The prompt of a BFCL conversation, version 1.
 *
 * Invariants
 * - The texts of a version never change: results with one are compared with results with the same.
 * - `none` is the official function-calling mode, which has no system message.
 */

/** Forms of the system message. */
export const promptForms = ['none', 'short', 'full'] as const
export type PromptForm = (typeof promptForms)[number]

const texts: Record<PromptForm, string> = {
  none: '',
  short: 'Do what the user asks with the tools. When it is done, answer without a call.',
  full: `You help a user over several turns, with tools.
In each turn do all that the user asks, with as many calls as it takes; you may make several calls in one message, and see their results before the next.
Take the values of arguments from the conversation and from results. Where a value or a fitting tool is missing, make no call and say what is missing.
When everything that was asked is done, answer without a call: that ends the turn, and the user may ask for more.`,
}

/** The system message; empty where there is none. */
export function systemPrompt(form: PromptForm): string {
  return texts[form]
}
