/**
 * The prompt of a task on a machine, version 1.
 *
 * Invariants
 * - The texts of a version never change: a policy that was trained on one is evaluated on the same.
 */

/** The tools, named as AgentBench has them. */
export type OsTool = 'bash_action' | 'answer_action' | 'finish_action'

const short = 'Do the task on this Linux machine, then call answer_action or finish_action.'

const full = `You work on a Linux machine and do one task there: you change something, or you find something out.
In every turn call exactly one tool.
- bash_action runs a bash script and returns what it prints. Folder and variables carry over to the next script. Nothing can be typed in, so a script must not ask for input. Long output is cut off: print less, or count instead.
- answer_action gives the answer to a question and ends the task. Answer exactly and briefly, a number or a name, no sentence.
- finish_action ends a task that asked for no answer, once it is done.
Look first where you are not sure, and check what you did. There is nobody to ask.`

const descriptions: Readonly<Record<'short' | 'full', Readonly<Record<OsTool, string>>>> = {
  short: {
    bash_action: 'Runs a bash script.',
    answer_action: 'Answers the question.',
    finish_action: 'Says that the work is done.',
  },
  full: {
    bash_action: 'Runs a bash script on the machine and returns what it prints.',
    answer_action: 'Answers the question and ends the task. Exactly the answer, no sentence.',
    finish_action: 'Ends the task, when it is done and asked for no answer.',
  },
}

/** The system message and the descriptions of the tools. */
export function promptOf(form: 'short' | 'full'): {
  readonly system: string
  readonly tools: Readonly<Record<OsTool, string>>
} {
  return { system: form === 'short' ? short : full, tools: descriptions[form] }
}
