/**
 * `report RUN --out DIR`: the page of a run as a folder that opens without a server.
 *
 * Invariants
 * - Only reads the home; a folder that is there already is refused.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import { packageRoot } from '../../machine/files/folder.ts'
import { type ReportOptions, reporting, runName, shellPath, wholeNumber } from '../terminal/options.ts'
import { openTerminal } from '../terminal/terminal.ts'

interface ReportFlags extends ReportOptions {
  readonly out: string
  readonly groups: number
  readonly episodes?: readonly string[]
}

/** Enough groups to show the learning, few enough to send. */
const usualGroups = 8

/** `perdure report RUN`. */
export function reportCommand(): Command {
  return reporting(
    new Command('report')
      .summary('write the page of a run as a folder that opens without a server')
      .description(
        'Writes curves, evaluations, configuration and chosen episodes of a run into a folder, with its figures as CSV and SVG.\n' +
          'index.html opens in a browser from there, and shows what `perdure ui` would.',
      )
      .argument('<run>', 'name of the run', runName)
      .requiredOption('--out <dir>', 'the folder to write; it must not exist', shellPath)
      .option('--groups <n>', 'groups whose episodes are shown: the latest', wholeNumber, usualGroups)
      .option('--episodes <id...>', 'episodes that are shown as well, those of evaluations and branches too'),
    [
      'report first --out first-report',
      'report first --out first-report --groups 32',
      'report first --out first-report --groups 0 --episodes first/e-held_out-v14-1/s0/a1',
    ],
  ).action(async (run: string, options: ReportFlags) => {
    const terminal = openTerminal(options)
    const { writeReport } = await import('../../dashboard/report.ts')
    const { pageFolder } = await import('../../dashboard/page-files.ts')
    const { version } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as {
      version: string
    }
    const { home, out, groups, episodes = [] } = options
    const found = await writeReport({
      ...{ home, run, out, groups, episodes },
      page: await pageFolder(),
      release: version,
    })
    terminal.report(found, [
      `Report of ${run}: ${found.file}, with ${found.episodes} episodes of ${found.groups} groups`,
    ])
  })
}
