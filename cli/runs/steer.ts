/**
 * `pause`, `continue`, `stop`, `set`, `checkpoint`, `rollback`, `audit`: steer a run that is in progress elsewhere.
 *
 * Invariants
 * - A command returns once the run has taken the order, and then says what holds.
 */
import { Command, InvalidArgumentError } from 'commander'
import type { AuditEntry, SettingsChange } from '../../client/session/training-session.ts'
import { withClient } from '../terminal/command-session.ts'
import { type ReportOptions, reporting, runName, wholeNumber } from '../terminal/options.ts'
import { Table } from '../terminal/table.ts'
import { openTerminal } from '../terminal/terminal.ts'

/** All commands that steer. */
export function steerCommands(): readonly Command[] {
  return [
    ...orders.map(orderCommand),
    stopCommand(),
    setCommand(),
    checkpointCommand(),
    rollbackCommand(),
    auditCommand(),
  ]
}

interface PlainOrder {
  readonly name: 'pause' | 'continue'
  readonly summary: string
  readonly description: string
  /** Message after the order took effect. */
  said(run: string): string
}

const orders: readonly PlainOrder[] = [
  {
    name: 'pause',
    summary: 'admit no more groups until the run is continued',
    description: 'Admits no more groups; episodes in flight are played to their end.',
    said: (run) => `Run ${run} is paused; \`perdure continue ${run}\` continues it.`,
  },
  {
    name: 'continue',
    summary: 'continue a paused run',
    description: 'Continues a paused run.',
    said: (run) => `Run ${run} continues.`,
  },
]

/** A command on one run. */
function steerCommand(name: string, examples: readonly string[]): Command {
  return reporting(new Command(name).argument('<run>', 'name of the run', runName), examples)
}

function orderCommand({ name, summary, description, said }: PlainOrder): Command {
  return steerCommand(name, [`${name} first`])
    .summary(summary)
    .description(description)
    .action(async (run: string, options: ReportOptions) => {
      const terminal = openTerminal(options)
      await withClient(options.home, terminal, (session) => session[name](run))
      terminal.report({ run, order: name }, [said(run)])
    })
}

function stopCommand(): Command {
  return steerCommand('stop', ['stop first', 'stop first --now'])
    .summary('end a run after the update in progress')
    .description('Ends a run after the update in progress; `perdure resume` continues from there.')
    .option('--now', 'do not wait for the update in progress')
    .action(async (run: string, options: ReportOptions & { readonly now?: boolean }) => {
      const terminal = openTerminal(options)
      const { now = false } = options
      await withClient(options.home, terminal, (session) => session.stop(run, { now }))
      const when = now ? 'now' : 'after the update in progress'
      terminal.report({ run, order: 'stop', now }, [
        `Run ${run} stops ${when}; \`perdure resume ${run}\` continues from there.`,
      ])
    })
}

function setCommand(): Command {
  return steerCommand('set', [
    'set first learning.learningRate=1e-4',
    'set first rollout.maxStaleness=0 rollout.groupsInFlight=8',
    'set first rollout.groupsInFlight=none',
    'set first tasks.0.weight=2 tasks.1.weight=1',
  ])
    .summary('change settings of a live run')
    .description(
      'Changes settings while the run is in progress, all that are given or none: weights of tasks, `rollout.maxStaleness`,\n' +
        '`rollout.groupsInFlight` and the `drop` of gates at once, those of `learning` from the next update on.',
    )
    .argument('<key=value...>', 'settings by their keys in the configuration', settings)
    .action(async (run: string, change: SettingsChange, options: ReportOptions) => {
      const terminal = openTerminal(options)
      await withClient(options.home, terminal, (session) => session.change(run, change))
      terminal.report({ run, order: 'set', settings: change }, [
        ...Object.entries(change).map(([key, value]) => `${key} = ${value ?? 'none'}`),
        `Run ${run} has them; \`perdure audit ${run}\` tells from which version on they hold.`,
      ])
    })
}

/** One more `key=value`. @throws InvalidArgumentError */
function settings(text: string, before: SettingsChange | undefined): SettingsChange {
  const [, key, value] = /^([\w.]+)=(.+)$/.exec(text) ?? []
  const number = value === 'none' ? null : Number(value)
  if (key === undefined || (number !== null && !Number.isFinite(number)))
    throw new InvalidArgumentError('Use key=value with a number or none, e.g. learning.learningRate=1e-4.')
  return { ...before, [key]: number }
}

function checkpointCommand(): Command {
  return steerCommand('checkpoint', ['checkpoint first'])
    .summary('keep the checkpoint of the current version')
    .description('Keeps the checkpoint of the current version of a live run, whatever else is deleted.')
    .action(async (run: string, options: ReportOptions) => {
      const terminal = openTerminal(options)
      const version = await withClient(options.home, terminal, (session) => session.checkpoint(run))
      terminal.report({ run, order: 'checkpoint', version }, [`Version ${version} of run ${run} is kept.`])
    })
}

function rollbackCommand(): Command {
  return steerCommand('rollback', ['rollback first 20'])
    .summary("continue from an earlier version's weights")
    .description(
      "After the update in progress the run continues from an earlier version's weights and optimizer, as a new version.",
    )
    .argument('<version>', 'version to go back to', wholeNumber)
    .action(async (run: string, version: number, options: ReportOptions) => {
      const terminal = openTerminal(options)
      await withClient(options.home, terminal, (session) => session.rollBack(run, version))
      terminal.report({ run, order: 'rollback', version }, [
        `After the update in progress run ${run} continues from version ${version}; \`perdure audit ${run}\` shows when it has.`,
      ])
    })
}

function auditCommand(): Command {
  return steerCommand('audit', ['audit first', 'audit first --json'])
    .summary('show who ordered what of a run')
    .description(
      'Shows every order that a run has taken: who, when, from, to, and from which version on it held.',
    )
    .action(async (run: string, options: ReportOptions) => {
      const terminal = openTerminal(options)
      const { readAudit } = await import('./run-record.ts')
      const entries = await readAudit(options.home, run)
      terminal.report(entries, [
        entries.length === 0 ? `Run ${run} has received no orders.` : auditTable(entries),
      ])
    })
}

function auditTable(entries: readonly AuditEntry[]): Table {
  return new Table({
    head: ['when', 'who', 'what', 'from', 'to', 'at', 'holds from', 'why'],
    aligns: ['left', 'left', 'left', 'left', 'left', 'right', 'right', 'left'],
    rows: entries.map(({ time, by, what, from, to, version, effectVersion, reason }) => [
      new Date(time).toISOString().slice(0, 19).replace('T', ' '),
      by,
      what,
      from === null ? '' : String(from),
      to === null ? 'none' : String(to),
      `v${version}`,
      effectVersion === null ? '' : `v${effectVersion}`,
      reason ?? '',
    ]),
  })
}
