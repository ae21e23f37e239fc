/**
 * `worker --role …`: take on some of the roles, for runs that several processes or machines share.
 *
 * Invariants
 * - Works until Ctrl-C, then finishes what it holds and ends with 0; workers that stop by themselves end it with 1 and a reason.
 */
import { Command, InvalidArgumentError, Option } from 'commander'
import { SessionFault } from '../../client/run/session-fault.ts'
import type { Role } from '../../client/session/training-session.ts'
import { withWorkers } from '../terminal/command-session.ts'
import { unlessAborted, watchInterrupts } from '../terminal/interrupt.ts'
import {
  type CacheFlag,
  cacheWanted,
  homeOption,
  type MetricsFlags,
  metricsOptions,
  metricsPlace,
  noCacheOption,
} from '../terminal/options.ts'
import { openTerminal } from '../terminal/terminal.ts'

// The workers' own list, written as a record so that a new role does not compile until it is here.
const roleSummaries: Record<Role, string> = {
  orchestrator: 'workflows',
  environment: 'environment sessions',
  policy: 'sampling',
  trainer: 'updates',
}

/** `all`, or roles joined by commas. @throws InvalidArgumentError */
function parseRoles(text: string): 'all' | readonly Role[] {
  if (text === 'all') return 'all'
  const known = Object.keys(roleSummaries)
  const roles = text.split(',').map((role) => role.trim())
  const twice = roles.find((role, index) => roles.indexOf(role) < index)
  if (twice !== undefined) throw new InvalidArgumentError(`"${twice}" is given twice.`)
  const unknown = roles.find((role) => !known.includes(role))
  if (unknown !== undefined)
    throw new InvalidArgumentError(
      `"${unknown}" is no role. Use all, or some of ${known.join(', ')}, joined by commas.`,
    )
  return roles as Role[]
}

interface WorkerFlags extends MetricsFlags, CacheFlag {
  readonly role: 'all' | readonly Role[]
  readonly slots?: number
  readonly drain?: number
  readonly home: string
}

/** A flag's number within bounds. @throws InvalidArgumentError */
function between(least: number, most: number): (text: string) => number {
  return (text) => {
    if (/^\d{1,9}$/.test(text) && Number(text) >= least && Number(text) <= most) return Number(text)
    throw new InvalidArgumentError(`Use a whole number from ${least} to ${most}.`)
  }
}

/** `perdure worker --role ROLE`. */
export function workerCommand(): Command {
  const described = Object.entries(roleSummaries).map(([role, summary]) => `${role} (${summary})`)
  return new Command('worker')
    .summary('serve runs as one of several processes')
    .description(
      'Serves the runs of a Temporal server in some of the roles until Ctrl-C.\n' +
        'Processes on one machine share --home; others find the server by TEMPORAL_ADDRESS.',
    )
    .addOption(
      new Option('--role <role>', `all, or some of ${described.join(', ')}, joined by commas`)
        .argParser(parseRoles)
        .makeOptionMandatory(),
    )
    .addOption(
      new Option(
        '--slots <n>',
        'most turns, sessions and agents of a role that this process works on at once (default: 500)',
      ).argParser(between(1, 10_000)),
    )
    .addOption(
      new Option(
        '--drain <seconds>',
        'how long what is in progress may take once SIGTERM or Ctrl-C ends the process; it takes nothing new (default: 3)',
      ).argParser(between(0, 86_400)),
    )
    .addOption(noCacheOption())
    .addOption(metricsOptions()[0])
    .addOption(metricsOptions()[1])
    .addOption(homeOption())
    .addHelpText(
      'after',
      '\nExamples:\n  $ perdure worker --role all\n  $ perdure worker --role orchestrator,environment\n  $ perdure worker --role policy --slots 64 --drain 60',
    )
    .action(async ({ role, home, slots, drain, ...flags }: WorkerFlags) => {
      const terminal = openTerminal({ json: false })
      using interrupt = watchInterrupts(() => undefined)
      const { signal } = interrupt
      try {
        const opening = {
          home,
          roles: role,
          shared: true,
          slots,
          drainSeconds: drain,
          metrics: metricsPlace(flags),
          cache: cacheWanted(flags),
          signal,
        }
        await withWorkers(opening, terminal, async ({ stopped, emptyHome }) => {
          const served = role === 'all' ? 'all roles' : role.join(', ')
          terminal.say(`Serving ${served} for ${home}; Ctrl-C ends it.`)
          const empty = await unlessAborted(signal, emptyHome())
          if (empty !== undefined) terminal.say(empty)
          await unlessAborted(signal, stopped).finally(() =>
            terminal.say('Finishing what is in progress; Ctrl-C again does not wait.'),
          )
        })
        throw new SessionFault(
          'no_workers',
          `the workers of this process have stopped by themselves; ${home}/logs/workers.log says more`,
        )
      } catch (error) {
        if (error !== signal.reason) throw error
      }
    })
}
