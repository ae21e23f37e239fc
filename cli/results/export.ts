/**
 * `export RUN`: the trajectories of a run as one file that other tools read.
 *
 * Invariants
 * - Nothing of the run changes; a run in progress is exported as far as it came.
 */
import { Command, Option } from 'commander'
import { runId } from '../../identity/identity.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { openStore } from '../../storage/store.ts'
import { findRun } from '../runs/run-record.ts'
import { exitCodes } from '../terminal/failure.ts'
import { type ReportOptions, reporting, runName, shellPath } from '../terminal/options.ts'
import { openTerminal } from '../terminal/terminal.ts'
import { count } from '../terminal/wording.ts'

interface ExportOptions extends ReportOptions {
  readonly format: 'jsonl' | 'parquet'
  readonly out?: string
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
        new Option('--format <format>', 'JSON Lines or Parquet')
          .choices(['jsonl', 'parquet'])
          .default('jsonl'),
      )
      .option('--out <file>', 'where to write; RUN.jsonl or RUN.parquet here by default', shellPath),
    ['export first', 'export first --format parquet --out first.parquet'],
  ).action(async (run: string, options: ExportOptions) => {
    const terminal = openTerminal(options)
    await findRun(options.home, run)
    const file = options.out ?? `${run}.${options.format}`
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
