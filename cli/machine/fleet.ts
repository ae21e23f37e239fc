/** `fleet`: the machines that work for a home, and what waits for them. */
import { Command } from 'commander'
import type { Fleet } from '../../client/session/training-session.ts'
import { withClient } from '../terminal/command-session.ts'
import { type ReportOptions, reporting } from '../terminal/options.ts'
import { Table } from '../terminal/table.ts'
import { openTerminal } from '../terminal/terminal.ts'

/** `perdure fleet`. */
export function fleetCommand(): Command {
  return reporting(
    new Command('fleet')
      .summary('list the machines that work for a home, and what waits for them')
      .description(
        'Lists the workers of a home by machine, process and role, with the slots that are in use, and how much work waits for\n' +
          'each role. A worker reports every 10 seconds; one that has been silent for 30 seconds is lost.',
      ),
    ['fleet', 'fleet --json'],
  ).action(async (options: ReportOptions) => {
    const terminal = openTerminal(options)
    const fleet = await withClient(options.home, terminal, (session) => session.fleet())
    terminal.report(
      fleet,
      fleet.workers.length === 0
        ? ['No worker serves this home; `perdure worker --role all` does.', queueTable(fleet)]
        : [workerTable(fleet), queueTable(fleet)],
    )
  })
}

function workerTable({ workers }: Fleet): Table {
  return new Table({
    head: ['machine', 'process', 'role', 'state', 'slots in use', 'reported'],
    rows: workers.map(({ machine, process, role, state, slots, silentMs }) => [
      machine,
      process,
      role,
      state,
      `${slots.used} of ${slots.of}`,
      `${seconds(silentMs)} ago`,
    ]),
  })
}

function queueTable({ queues }: Fleet): Table {
  return new Table({
    head: ['role', 'waiting', 'for at most'],
    rows: queues.map(({ role, waiting, oldestMs }) => [role, `${waiting}`, seconds(oldestMs)]),
  })
}

function seconds(milliseconds: number): string {
  return `${Math.round(milliseconds / 1000)} s`
}
