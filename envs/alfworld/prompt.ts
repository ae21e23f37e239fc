/**
 * The prompt of a household game, version 1.
 *
 * Invariants
 * - The texts of a version never change: a policy that was trained on one is evaluated on the same.
 */

const short = 'Do the household task with take_action.'

const full = `You are in a household and do one task there, step by step, through text commands.
In every turn call the tool take_action once, with one command as its "action".
At first you see the places of the home and the task. Things are at those places, some of them inside closed furniture; go from place to place, open what is closed, and look for what you need.
You carry one thing at a time. Use names with their numbers, as you have read them.
Commands: {commands}.
A command that cannot be done is answered "Nothing happens."; then do something else.`

/** The system message. @param commands that the game knows, as it words them */
export function systemPrompt(form: 'short' | 'full', commands: readonly string[]): string {
  return form === 'short' ? short : full.replace('{commands}', () => commands.join(', '))
}
