/**
 * A live session on a machine, played through three tools that are named and shaped as AgentBench has them.
 *
 * Invariants
 * - Output is shown as AgentBench shows it: whole up to 800 characters, else its first 780 and a notice.
 * - A script that fails is not invalid; one that bash could not read is.
 * - Only a submission is graded and paid, once: reward 1 where it fulfils the assignment, else 0.
 * - A machine lives as long as its episode: a submission, a reset and a close end it.
 * - The texts of a version never change: a policy that was trained on one is evaluated on the same.
 */
import { type Answer, quoted, refused, textExpected, textTool } from '../contract/agent-tool.ts'
import type { Environment, InstanceId } from '../contract/environment.ts'
import { ToolSession } from '../contract/tool-session.ts'
import type { Assignment, Machine, Submission } from './machine.ts'

/** The parts of a session. */
export interface SessionOptions {
  /** @throws EnvironmentFault unknown_instance */
  readonly assignmentOf: (instance: InstanceId) => Assignment
  readonly prompt: 'short' | 'full'
}

/** An assignment being worked on. */
interface Play {
  readonly machine: Machine
}

/** Longer scripts than this are refused: no command line takes them. */
export const scriptLimit = 100_000

// AgentBench's figures.
const shownWhole = 800

const shownCut = 780

/** The tools, named as AgentBench has them. */
type OsTool = 'bash_action' | 'answer_action' | 'finish_action'

/** The text that the agent reads for an output. */
export function shown(output: string): string {
  if (output === '') return 'The output of the OS is empty.'
  // Characters as Python counts them: a pair of surrogates is one.
  const characters = output.length > shownWhole ? [...output] : undefined
  const text =
    characters !== undefined && characters.length > shownWhole
      ? `${characters.slice(0, shownCut).join('')}\n[truncated because the output is too long]`
      : output
  return `The output of the OS:\n\n${text}`
}

/** A session that works on one machine after another. */
export function createSession({ assignmentOf, prompt }: SessionOptions): Environment {
  const { system, tools } = promptOf(prompt)
  const tool = <Argument extends string>(
    name: OsTool,
    argument: Argument,
    run: (text: string, play: Play) => Answer | Promise<Answer>,
  ) =>
    textTool<Argument, Play>({
      name,
      description: tools[name],
      takes: { [argument]: '' } as Record<Argument, string>,
      run: (given, play) => run(given[argument], play),
      // A null is called one, not an object.
      misfit: (_, value) => textExpected(name, argument, value === null ? 'null' : value),
    })
  return new ToolSession<Play>({
    tools: [
      tool('bash_action', 'script', runScript),
      tool('answer_action', 'answer', (answer, play) => submit({ kind: 'answer', answer }, play)),
      tool('finish_action', 'thought', (thought, play) => submit({ kind: 'finish', thought }, play)),
    ],
    unnamed: 'bash_action',
    noSuchTool: (name) =>
      `There is no tool ${quoted(name === null ? 'null' : name)}. Call bash_action, answer_action or finish_action.`,
    noCall: 'No executable tool calls found. Please call a tool instead',
    over: 'The task is done.',
    idle: 'no machine is open here',
    async open(instance) {
      const { description, kind, open } = assignmentOf(instance)
      return { play: { machine: await open() }, system, prompt: description, kind }
    },
    facts: (_, results) => results.at(-1) ?? { exitCode: null },
    state: 'calls',
    close: ({ machine }) => machine.close(),
  })
}

async function runScript(script: string, { machine }: Play): Promise<Answer> {
  if (script.includes('\0')) return refused('The script holds a NUL character, which bash cannot read.')
  if (script.length > scriptLimit)
    return refused(`The script is too long: ${script.length} characters, at most ${scriptLimit}.`)
  const { output, exitCode } = await machine.run(script)
  return { reply: shown(output), info: { exitCode } }
}

async function submit(submission: Submission, { machine }: Play): Promise<Answer> {
  const reward = (await machine.grade(submission)) ? 1 : 0
  await machine.close()
  return { reply: 'Submitted.', reward, done: true }
}

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
