/**
 * A live session on a Harbor task, played through the tools `bash` and `done`.
 *
 * Invariants
 * - [HARBOR-SESSION-1] The tests run once, after the last command: when the agent says that it is done, or its time is up.
 * - A command that fails is not invalid; one that bash could not read is.
 * - A machine lives as long as its episode.
 */
import { type Answer, refused, textTool } from '../../contract/agent-tool.ts'
import type { Environment, InstanceId } from '../../contract/environment.ts'
import { ToolSession } from '../../contract/tool-session.ts'
import { scriptLimit } from '../../os/machine-session.ts'
import { type CommandResult, HarborMachine, type HarborRoom } from './machine.ts'
import type { TaskFolder } from './task-folder.ts'
import { verify } from './verifier.ts'

interface Play {
  readonly task: TaskFolder
  readonly machine: HarborMachine
  readonly room: HarborRoom
}

/** @param taskOf throws EnvironmentFault `unknown_instance` @param roomOf opened with the first machine */
export function createSession(
  taskOf: (instance: InstanceId) => TaskFolder,
  roomOf: () => Promise<HarborRoom>,
): Environment {
  return new ToolSession<Play>({
    tools: [
      textTool<'command', Play>({
        name: 'bash',
        description: 'Runs a bash command on the machine and returns what it prints.',
        takes: { command: '' },
        run: ({ command }, play) => runCommand(command, play),
      }),
      textTool<never, Play>({
        name: 'done',
        description: 'Says that the task is done.',
        takes: {},
        run: (_, play) => graded(play, 'Done.'),
      }),
    ],
    unnamed: 'bash',
    noSuchTool: () => 'There is no such tool. Call bash, or done at the end.',
    noCall: 'Call bash, or done at the end.',
    over: 'The task is over.',
    idle: 'no task is open here',
    async open(instance) {
      const task = taskOf(instance)
      const room = await roomOf()
      const machine = await HarborMachine.open(task, room)
      return {
        play: { task, machine, room },
        system: 'Do the task on this Linux machine, then call done.',
        prompt: task.instruction,
        kind: task.name,
      }
    },
    facts: (_, facts) => Object.assign({ exitCode: null }, ...facts),
    state: 'calls',
    close: ({ machine }) => machine.close(),
  })
}

async function runCommand(command: string, play: Play): Promise<Answer> {
  if (command.includes('\0')) return refused('The command holds a NUL character, which bash cannot read.')
  if (command.length > scriptLimit)
    return refused(`The command is too long: ${command.length} letters, at most ${scriptLimit}.`)
  const result = await play.machine.run(command)
  const reply = shown(result, play.room.settings.outputLetters)
  const info = { exitCode: result.exitCode }
  if (result.over === undefined) return { reply, info }
  const why = result.over === 'time' ? 'The time is up.' : 'The machine has ended.'
  const answer = await graded(play, `${reply}\n[${why}]`)
  return { ...answer, info: { ...info, ...answer.info } }
}

async function graded({ task, machine, room }: Play, reply: string): Promise<Answer> {
  const paid = await verify(task, machine.container, room)
  await machine.close()
  return { reply, reward: paid?.reward ?? 0, done: true, info: { rewards: paid?.rewards ?? null } }
}

/** The text that the agent reads: the whole output, or its beginning and its end. */
export function shown({ output, exitCode }: CommandResult, letters: number): string {
  const half = Math.floor(letters / 2)
  const left = output.length - 2 * half
  const text =
    left > 0
      ? `${output.slice(0, half)}\n[${left} letters are left out]\n${output.slice(-half)}`
      : output.trimEnd()
  const status = exitCode === 0 ? '' : `[exit status ${exitCode}]`
  return [text, status].filter((part) => part !== '').join('\n') || '[no output]'
}
