/**
 * `metrics RUN`: the figures of a run's updates and evaluations.
 *
 * Invariants
 * - They are those of the store, each update once, whatever `metrics.jsonl` holds; nothing of the run changes.
 */
import { Command, Option } from 'commander'
import { runId } from '../../identity/identity.ts'
import { metricRows } from '../../learning/run/metrics.ts'
import { percent } from '../../learning/statistics/percent.ts'
import { shownText } from '../../machine/files/shown-text.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { isUpdateMetrics, type MetricsLine, type UpdateMetrics } from '../../storage/metrics/metrics.ts'
import { asCsv, type MetricsKind, metricsKinds, metricsTable } from '../../storage/metrics/metrics-table.ts'
import { openStore } from '../../storage/store.ts'
import { findRun } from '../runs/run-record.ts'
import { homeOption, jsonOption, type ReportOptions, runName } from '../terminal/options.ts'
import { unfiltered } from '../terminal/output.ts'
import { Table } from '../terminal/table.ts'
import { openTerminal } from '../terminal/terminal.ts'
import { count } from '../terminal/wording.ts'

interface MetricsOptions extends ReportOptions {
  readonly csv?: true
  readonly of: MetricsKind
}

/** Updates that the table in the terminal shows. */
const shownUpdates = 20

/** CSV ends its lines with a carriage return too (RFC 4180), which a terminal is otherwise not sent. */
function writeCsv(csv: string): void {
  unfiltered(process.stdout).write(csv.split('\r\n').map(shownText).join('\r\n'))
}

/** `perdure metrics RUN`. */
export function metricsCommand(): Command {
  return new Command('metrics')
    .summary("show the figures of a run's updates")
    .description(
      `Shows the figures of the latest ${shownUpdates} updates of a run, or gives all figures of all updates or evaluations as CSV that pandas, R and spreadsheets read.`,
    )
    .argument('<run>', 'name of the run', runName)
    .option('--csv', 'all figures as CSV, on standard output')
    .addOption(
      new Option('--of <kind>', 'with --csv: one row for each of these')
        .choices(metricsKinds)
        .default('updates'),
    )
    .addOption(homeOption())
    .addOption(jsonOption().conflicts('csv'))
    .addHelpText(
      'after',
      '\nExamples:\n  $ perdure metrics first\n  $ perdure metrics first --csv > updates.csv\n  $ perdure metrics first --csv --of evaluations > evaluations.csv',
    )
    .addHelpText('after', `\nFigures of an update:\n${figureLines().join('\n')}`)
    .action(async (run: string, options: MetricsOptions) => {
      const terminal = openTerminal(options)
      await findRun(options.home, run)
      const lines = await linesOf(options.home, run)
      if (options.csv === true) writeCsv(asCsv(metricsTable(lines, options.of)))
      else terminal.report({ run, lines }, shown(run, lines.filter(isUpdateMetrics)))
    })
}

/** Each metric of the table: its key, its unit, the direction that is better, its words. */
function figureLines(): readonly string[] {
  return metricRows.map(([name, { unit, better, words }]) => {
    const direction = better === null ? '' : ` (${better} is better)`
    return `  ${name.padEnd(24)}${unit.padEnd(19)}${words}${direction}`
  })
}

async function linesOf(home: string, run: string): Promise<readonly MetricsLine[]> {
  await using store = await openStore(homeAt(home).storeFile, { create: false, access: 'read' })
  return await store.metrics.list(runId(run))
}

function shown(run: string, updates: readonly UpdateMetrics[]): readonly (string | Table)[] {
  if (updates.length === 0) return [`${run} has made no update yet`]
  const latest = updates.slice(-shownUpdates)
  const tasks = [...new Set(latest.flatMap(({ success }) => Object.keys(success)))]
  const table = new Table({
    head: ['update', ...tasks.map((task) => `${task}, won`), 'staleness', 'KL', 'entropy', 'wait', 'train'],
    aligns: ['right', ...tasks.map(() => 'right' as const), 'right', 'right', 'right', 'right', 'right'],
    rows: latest.map((line) => [
      line.step,
      ...tasks.map((task) => (line.success[task] === undefined ? '' : percent(line.success[task]))),
      line.staleness.mean.toFixed(2),
      line.kl.toPrecision(2),
      line.entropy.toFixed(3),
      `${line.seconds.wait.toFixed(1)} s`,
      `${line.seconds.train.toFixed(1)} s`,
    ]),
  })
  const earlier = updates.length - latest.length
  return [
    table,
    ...(earlier === 0 ? [] : [`${count(earlier)} updates before these: \`perdure metrics ${run} --csv\``]),
  ]
}
