/**
 * `promote RUN[@VERSION]`: mark the version that users of a run's policy take.
 *
 * Invariants
 * - It says where the checkpoint lies, and what spoke for it.
 */
import { Command } from 'commander'
import { runId } from '../../identity/identity.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { findingWords } from '../runs/live-view.ts'
import { withClient } from '../terminal/command-session.ts'
import { type ReportOptions, reporting, runName, wholeNumber } from '../terminal/options.ts'
import { openTerminal } from '../terminal/terminal.ts'

interface PromoteOptions extends ReportOptions {
  readonly suite?: string
}

/** `perdure promote RUN [VERSION]`. */
export function promoteCommand(): Command {
  return reporting(
    new Command('promote')
      .summary('mark the version that users take')
      .description(
        'Marks a version of a run as the one to take, by default the best one on a suite. Its checkpoint is kept, and\n' +
          '`checkpoints/promoted.json` in the directory of the run names it.',
      )
      .argument('<run>', 'name of the run', runName)
      .argument('[version]', 'version to take; the best one on the suite by default', wholeNumber)
      .option('--suite <name>', "suite of the run's configuration; the first by default"),
    ['promote first', 'promote first 40', 'promote first --suite held_out'],
  ).action(async (run: string, version: number | undefined, options: PromoteOptions) => {
    const terminal = openTerminal(options)
    const promotion = await withClient(options.home, terminal, (session) =>
      session.promote(run, { version, suite: options.suite }),
    )
    const { evaluation } = promotion
    const checkpoint = homeAt(options.home).run(runId(run)).checkpointDir(promotion.version)
    const evidence = evaluation === undefined ? '' : `: ${findingWords(evaluation)} on ${evaluation.suite}`
    terminal.report({ run, ...promotion, checkpoint }, [
      `Version ${promotion.version} of run ${run} is promoted${evidence}.`,
      checkpoint,
    ])
  })
}
