/**
 * `perdure env`: the tasks, played by a person or by recorded actions, without a server.
 *
 * Invariants
 * - `replay` writes nothing but JSON Lines to standard output and reads no further than it has answered.
 */

import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Command } from 'commander'
import {
  type EnvironmentDefinition,
  EnvironmentFault,
  type Observation,
  type Task,
} from '../../envs/contract/environment.ts'
import { linesOf, replayLines, resolverFor } from '../../envs/contract/replay.ts'
import { openWatched, saidBy } from '../../envs/contract/watched-task.ts'
import { environments } from '../../envs/registry.ts'
import { codeOf } from '../../faults/system-error.ts'
import type { DeclaredMetrics } from '../../learning/evaluation/measure.ts'
import { jsonLine, shownText } from '../../machine/files/shown-text.ts'
import { withTypedCommands } from '../../machine/processes/typed-command.ts'
import type { Message } from '../../messages/message.ts'
import { CallFault, exitCodes } from '../terminal/failure.ts'
import { watchInterrupts } from '../terminal/interrupt.ts'
import { portNumber, wholeNumber } from '../terminal/options.ts'
import { unfiltered } from '../terminal/output.ts'
import { Table } from '../terminal/table.ts'
import { openTerminal } from '../terminal/terminal.ts'
import { environmentCheckCommand } from './env-check.ts'
import { firstSteps, testEnvironment, writeEnvironment } from './env-new.ts'
import { environmentServeCommand } from './env-serve.ts'
import { askingPerson } from './person-answers.ts'
import { tasksAt } from './task-address.ts'
import { callFault, openTask, type TaskFlags, warn, withTaskFlags } from './task-flags.ts'
import { possibilities, readAction, toolUsage } from './typed-action.ts'

interface PlayFlags {
  readonly instance?: string
  readonly seed: number
  readonly web: boolean
  readonly port: number
}

/** The command `env` with its sub-commands. */
export function envCommand(): Command {
  const env = new Command('env').description(
    'the tasks: list them, play one, replay recorded actions, make one of your own',
  )
  env
    .command('list')
    .description('tasks with their splits')
    .argument(
      '[from]',
      'path or package with tasks of your own, or the address of a server; the registered tasks without it',
    )
    .option('--json', 'print JSON, and nothing else, on standard output', false)
    .addHelpText('after', '\nExamples:\n  $ perdure env list\n  $ perdure env list ./guess-number')
    .action(async (from: string | undefined, { json }: { json: boolean }) => {
      const tasks = from === undefined ? environments : await tasksAt(from)
      const rows = await Promise.all(tasks.map(describeTask))
      const problems = rows.flatMap(({ name, problem }) =>
        problem === undefined ? [] : [`${name} cannot be opened: ${problem}`],
      )
      openTerminal({ json }).report(rows, [tableOf(rows), ...problems])
    })
  env
    .command('new')
    .description('write a working environment of your own, with its test, into a folder of its name')
    .argument('<name>', 'small letters, digits, "-" and "_"')
    .option('--python', 'its rules in Python, for libraries of that language', false)
    .addHelpText(
      'after',
      '\nExamples:\n  $ perdure env new my-game\n  $ perdure env new my-game --python\n  $ perdure train my-game/train.yaml',
    )
    .action((name: string, { python }: { python: boolean }) => {
      const language = python ? 'python' : 'typescript'
      writeEnvironment(name, '.', language)
      process.stdout.write(withTypedCommands(`${firstSteps(name, language).join('\n')}\n`))
    })
  env
    .command('test')
    .description('check the types of an environment of your own, and run its tests: its files *.test.ts')
    .argument('<from>', 'path of the environment')
    .addHelpText('after', '\nExamples:\n  $ perdure env test ./my-game')
    .action(async (from: string) => {
      process.exitCode = await testEnvironment(from, warn)
    })
  withTaskFlags(env.command('play'))
    .description('play a task in the terminal, or in a browser')
    .option('--instance <id>', 'the problem to play; one that the seed picks by default')
    .option('--seed <n>', 'which problem of the split to play', wholeNumber, 0)
    .option('--web', 'serve a page of this machine to play on, where the task has one', false)
    .option('--port <n>', 'port of that page; any free one by default', portNumber, 0)
    .addHelpText(
      'after',
      '\nIt shows the usage first; "?" lists the possible actions, "quit" leaves.\n\nExamples:\n  $ perdure env play alfworld\n  $ perdure env play alfworld --instance test/7\n  $ perdure env play webshop --web\n  $ perdure env play ./guess-number',
    )
    .action(async (task: string, flags: TaskFlags & PlayFlags) => {
      const opened = await openTask(task, flags)
      try {
        if (flags.web) await playOnPage(opened, flags, process.stdout)
        else await play(opened, flags, process.stdin, unfiltered(process.stdout))
      } catch (cause) {
        throw callFault(cause)
      } finally {
        await opened.close()
      }
    })
  withTaskFlags(env.command('replay'))
    .description('replay recorded actions: JSON Lines in, JSON Lines out')
    .addHelpText(
      'after',
      `
Each line of input is {"instance": ID, "actions": [{"content"?, "tool_calls"?: [{"name", "arguments"}]}, …]};
it is answered by {"instance", "outcome", "reward", "steps"} or {"instance", "error"}. steps[0] is the reset.

Example:
  $ echo '{"instance":"test/7","actions":[{"tool_calls":[{"name":"take_action","arguments":{"action":"look"}}]}]}' \\
      | perdure env replay alfworld`,
    )
    .action(async (task: string, flags: TaskFlags) => {
      const opened = await openTask(task, flags, true)
      try {
        await replay(opened, flags.split, process.stdin, process.stdout)
      } finally {
        await opened.close()
      }
    })
  env.addCommand(environmentCheckCommand())
  env.addCommand(environmentServeCommand())
  return env
}

/** `splits` is empty where the task cannot be opened, and `problem` says why. */
interface TaskRow {
  readonly name: string
  readonly summary: string
  readonly splits: readonly { readonly name: string /** null without end */; readonly size: number | null }[]
  readonly turnLimit: number
  readonly reward: string
  readonly metrics?: DeclaredMetrics
  readonly asks?: readonly string[]
  readonly replayable: boolean
  readonly source: string
  readonly licence: string
  readonly problem?: string
}

/** A task that cannot be opened is listed with the reason, because one missing package must not hide the other tasks. */
async function describeTask(definition: EnvironmentDefinition): Promise<TaskRow> {
  const { name, summary, turnLimit, reward, metrics, asks, replayable, source, licence } = definition
  const about = {
    turnLimit,
    reward,
    ...(metrics && { metrics }),
    ...(asks && { asks }),
    replayable,
    source,
    licence,
  }
  try {
    const task = await openWatched(definition, {}, saidBy(warn))
    const splits = task.splits.map((split) => ({
      name: split.name,
      size: Number.isFinite(split.size) ? split.size : null,
    }))
    await task.close()
    return { name, summary, splits, ...about }
  } catch (cause) {
    if (!(cause instanceof EnvironmentFault)) throw cause
    if (cause.kind !== 'not_installed') process.exitCode = exitCodes.failed
    return { name, summary, splits: [], ...about, problem: cause.message }
  }
}

function tableOf(rows: readonly TaskRow[]): Table {
  return new Table({
    head: ['task', 'what', 'splits', 'turns', 'reward', 'source', 'licence'],
    widths: [10, 30, 18, 7, 16, 26, 18],
    rows: rows.map(
      ({ name, summary, splits, problem, turnLimit, reward, metrics = {}, asks = [], source, licence }) => [
        name,
        summary,
        problem === undefined
          ? splits.map((split) => `${split.name} ${split.size ?? 'any number'}`).join('\n')
          : 'see below',
        turnLimit,
        [
          reward,
          ...Object.keys(metrics).map((metric) => `metric: ${metric}`),
          ...asks.map((role) => `asks a ${role}`),
        ].join('\n'),
        source,
        licence,
      ],
    ),
  })
}

/** Replays lines from one stream to another. @throws CallFault for a split that the task does not have */
export async function replay(
  task: Task,
  split: string | undefined,
  input: Readable,
  output: Writable,
): Promise<void> {
  async function* answers(): AsyncGenerator<string> {
    const resolve = resolverFor(task, split)
    for await (const answer of replayLines(task, linesOf(input), resolve)) yield `${jsonLine(answer)}\n`
  }
  try {
    await pipeline(answers, output, { end: false })
  } catch (cause) {
    // The reader has read enough, as `head` does.
    if (codeOf(cause) !== 'EPIPE') throw callFault(cause)
  }
}

/** Lets a person play one problem. */
export async function play(
  task: Task,
  { split, instance, seed }: { split?: string; instance?: string; seed: number },
  input: Readable,
  output: Writable & { readonly isTTY?: boolean },
): Promise<void> {
  const say = (text: string): void => {
    output.write(`${shownText(text)}\n`)
  }
  const prompt = output.isTTY === true ? '> ' : ''
  const lines = createInterface({ input, output, terminal: output.isTTY === true, prompt })
  const typed = lines[Symbol.asyncIterator]()
  let open = true
  lines.once('close', () => {
    open = false
  })
  const environment = await task.create(
    askingPerson({
      say,
      async line() {
        if (open) lines.prompt()
        const { value, done } = await typed.next()
        return done === true ? undefined : value
      },
    }),
  )
  try {
    const id =
      instance === undefined
        ? task.instanceAt(split ?? task.splits[0]?.name ?? 'train', seed)
        : resolverFor(task, split)(instance)
    let seen: Observation = await environment.reset(id)
    say(`${id}\n`)
    show(seen.messages, say)
    say(`\n${toolUsage(environment.tools)}`)
    let reward = 0
    for (let turns = 0; ; ) {
      if (open) lines.prompt()
      const { value: line, done } = await typed.next()
      if (done === true || line === 'quit') return say('left')
      if (line === '?') {
        say(possibilities(environment.tools, seen.info))
        continue
      }
      turns++
      const result = await environment.step(readAction(line, environment.tools))
      reward += result.reward
      show(result.messages, say)
      if (result.done) return say(`\n${result.outcome}: reward ${reward} in ${turns} turns`)
      seen = result
    }
  } finally {
    lines.close()
    await environment.close()
  }
}

/** Serves the task's page until Ctrl-C. @throws CallFault where it has none */
async function playOnPage(
  task: Task,
  { split, instance, seed, port }: { readonly split?: string } & PlayFlags,
  output: Writable,
): Promise<void> {
  if (task.serve === undefined)
    throw new CallFault(
      'bad_flag',
      '--web: this task has no page; leave the flag out to play in the terminal.',
    )
  function* instances(): Generator<string> {
    if (instance !== undefined) yield resolverFor(task, split)(instance)
    for (let index = seed; ; index++) yield task.instanceAt(split ?? task.splits[0]?.name ?? 'train', index)
  }
  using interrupt = watchInterrupts(() => undefined)
  const page = await task.serve(instances(), port)
  output.write(`${page.url}\nCtrl-C ends it.\n`)
  if (!interrupt.signal.aborted) await once(interrupt.signal, 'abort')
  await page.close()
}

function show(messages: readonly Message[], say: (text: string) => void): void {
  for (const message of messages) say(message.content)
}
