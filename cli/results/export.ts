/**
 * `export RUN`: the trajectories of a run as one file that other tools read.
 *
 * Invariants
 * - Nothing of the run changes; a run in progress is exported as far as it came.
 */
import { Command, Option } from 'commander'
import { runId } from '../../identity/identity.ts'
import { homeAt } from '../../storage/disk/home.ts'
import type { ExportFormat } from '../../storage/export.ts'
import { openStore } from '../../storage/store.ts'
import { findRun } from '../runs/run-record.ts'
import { exitCodes } from '../terminal/failure.ts'
import { type ReportOptions, reporting, runName, shellPath } from '../terminal/options.ts'
import { openTerminal } from '../terminal/terminal.ts'
import { count } from '../terminal/wording.ts'

interface ExportOptions extends ReportOptions {
  readonly format: ExportFormat
  readonly out?: string
}

/** How files of each format are called after the run. */
const endings: Readonly<Record<ExportFormat, string>> = {
  jsonl: 'jsonl',
  parquet: 'parquet',
  atif: 'atif.jsonl',
}

/** `perdure export RUN`. */
export function exportCommand(): Command {
  return reporting(
    new Command('export')
      .summary("write a run's trajectories to a file")
      .description(
        "Writes the finished episodes of a run, with messages, tokens, rewards and advantages, to one file that pandas, DuckDB and Hugging Face's datasets read.",
      )
      .argument('<run>', 'name of the run', runName)
      .addOption(
        new Option('--format <format>', "JSON Lines, Parquet, or Harbor's ATIF, a trajectory on each line")
          .choices(Object.keys(endings))
          .default('jsonl'),
      )
      .option(
        '--out <file>',
        'where to write; by default RUN.jsonl, RUN.parquet or RUN.atif.jsonl here',
        shellPath,
      ),
    ['export first', 'export first --format parquet --out first.parquet', 'export first --format atif'],
  ).action(async (run: string, options: ExportOptions) => {
    const terminal = openTerminal(options)
    await findRun(options.home, run)
    const file = options.out ?? `${run}.${endings[options.format]}`
    const { exportRun } = await import('../../storage/export.ts')
    const { createLearntGroups, lessonFrom } = await import('../../client/learnt-groups.ts')
    const home = homeAt(options.home)
    await using store = await openStore(home.storeFile, { create: false, access: 'read' })
    const groups = createLearntGroups({ home, store })
    const result = await exportRun(store, runId(run), {
      format: options.format,
      out: file,
      learnt: ({ episode }, update) => lessonFrom(groups, episode, update),
    })
    const { episodes, tokens, refused } = result
    terminal.report({ run, format: options.format, ...result }, [
      `${count(episodes)} episodes (${count(tokens)} tokens) of ${run} written to ${file}`,
      ...refused.map(({ episode, reason }) => `left out: ${episode}: ${reason}`),
    ])
    if (refused.length > 0) process.exitCode = exitCodes.failed
  })
}
