/**
 * `schedule`: evaluate the newest version of a run again and again.
 *
 * Invariants
 * - A schedule is a Temporal Schedule: it fires while the server and any orchestrator worker of the home run, and outlives
 *   every process.
 */
import { Command, InvalidArgumentError } from 'commander'
import type { EvaluationSchedule, Timing } from '../../client/session/training-session.ts'
import { withClient } from '../terminal/command-session.ts'
import { CallFault } from '../terminal/failure.ts'
import { positiveInteger, type ReportOptions, reporting, runName } from '../terminal/options.ts'
import { Table } from '../terminal/table.ts'
import { openTerminal } from '../terminal/terminal.ts'

interface CreateOptions extends ReportOptions {
  readonly suite?: string
  readonly name?: string
  readonly every?: string
  readonly cron?: string
  readonly episodes?: number
  readonly samples?: number
}

/** `perdure schedule create|list|pause|continue|trigger|delete`. */
export function scheduleCommand(): Command {
  const command = new Command('schedule')
    .summary('evaluate the newest version of a run on a schedule')
    .description(
      'Evaluates the newest version of a run on a schedule, while the run trains or after it, wherever `perdure train`\n' +
        'or `perdure worker` work on this home. A time that comes while the last evaluation is in progress is left out.',
    )
  for (const child of [createCommand(), listCommand(), ...orders.map(orderCommand)]) command.addCommand(child)
  return command
}

function createCommand(): Command {
  return reporting(
    new Command('create')
      .summary('create a schedule')
      .description('Creates a schedule that evaluates the newest version of a run.')
      .argument('<run>', 'name of the run', runName)
      .option('--suite <name>', "suite of the run's configuration; the first by default")
      .option('--every <time>', 'time between two evaluations, e.g. 90s, 30m, 6h, 1d', interval)
      .option('--cron <expression>', 'times in UTC, five fields: "0 3 * * *", or @hourly, @daily')
      .option('--name <name>', "name of the schedule; the suite's by default", scheduleName)
      .option('--episodes <n>', "number of instances; the suite's own by default", positiveInteger)
      .option('--samples <k>', "episodes of each instance; the suite's own by default", positiveInteger),
    [
      'schedule create first --every 30m',
      'schedule create first --suite held_out --cron @daily --name nightly --episodes 1000',
    ],
  ).action(async (run: string, options: CreateOptions) => {
    const terminal = openTerminal(options)
    const timing = timingOf(options)
    const { suite, name, episodes, samples } = options
    const { schedule, next } = await withClient(options.home, terminal, (session) =>
      session.schedule(run, { timing, suite, name, episodes, samples }),
    )
    const when = 'every' in timing ? `every ${timing.every}` : `at ${timing.cron}`
    terminal.report({ run, schedule, ...timing, next, zone: 'UTC' }, [
      `The newest version of run ${run} is evaluated ${when}, while workers of this home run.`,
      `It fires next at ${next.map(utc).join(', ')}.`,
    ])
  })
}

/** @throws CallFault */
function timingOf({ every, cron }: CreateOptions): Timing {
  if ((every === undefined) === (cron === undefined))
    throw new CallFault('bad_flag', 'say when with either --every or --cron, e.g. --every 30m')
  return every === undefined ? { cron: cron ?? '' } : { every }
}

function listCommand(): Command {
  return reporting(
    new Command('list')
      .summary('list schedules')
      .description('Lists the schedules of a run, or of all runs of the home directory.')
      .argument('[run]', 'name of the run', runName),
    ['schedule list', 'schedule list first --json'],
  ).action(async (run: string | undefined, options: ReportOptions) => {
    const terminal = openTerminal(options)
    const schedules = await withClient(options.home, terminal, (session) => session.schedules(run))
    terminal.report(schedules, [
      schedules.length === 0
        ? 'No schedules yet; `perdure schedule create RUN --every 30m` makes one.'
        : scheduleTable(schedules),
    ])
  })
}

function scheduleTable(schedules: readonly EvaluationSchedule[]): Table {
  return new Table({
    head: ['run', 'schedule', 'state', 'last', 'next'],
    rows: schedules.map(({ run, name, paused, note, last, next }) => [
      run,
      name,
      paused ? (note ?? 'paused') : 'on',
      last === undefined ? '' : utc(last),
      paused ? '' : next.map(utc).join(', '),
    ]),
  })
}

function utc(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

/** Each order with its summary, and what then holds of the schedule. */
const orders = [
  ['pause', 'keep a schedule from firing', 'is paused'],
  ['continue', 'let a paused schedule fire again', 'fires again'],
  ['trigger', 'fire now, beside the times of the schedule', 'fires now'],
  ['delete', 'delete a schedule', 'is deleted'],
] as const

function orderCommand([order, summary, effect]: (typeof orders)[number]): Command {
  const command = new Command(order)
  // Temporal's own word for it.
  if (order === 'continue') command.alias('unpause')
  command
    .summary(summary)
    .description(`${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`)
    .argument('<run>', 'name of the run', runName)
    .argument('<schedule>', 'name of the schedule', scheduleName)
  return reporting(command, [`schedule ${order} first held_out`]).action(
    async (run: string, name: string, options: ReportOptions) => {
      const terminal = openTerminal(options)
      await withClient(options.home, terminal, (session) => session[`${order}Schedule`](run, name))
      terminal.report({ run, schedule: name, order }, [`Schedule ${name} of run ${run} ${effect}.`])
    },
  )
}

/** @throws InvalidArgumentError */
function interval(text: string): string {
  if (/^[1-9]\d{0,6}(s|m|h|d)$/.test(text)) return text
  throw new InvalidArgumentError('Use a number with s, m, h or d, e.g. 30m.')
}

/** @throws InvalidArgumentError */
function scheduleName(text: string): string {
  if (/^[a-z0-9_-]{1,60}$/.test(text)) return text
  throw new InvalidArgumentError('Use small letters, digits, "_" or "-".')
}
