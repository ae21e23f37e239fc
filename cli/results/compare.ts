/**
 * `compare A B`: two runs, or two versions, on the instances that both have played.
 */
import { Command } from 'commander'
import {
  compareOnSuites,
  type Side,
  type SideFindings,
  type SuiteComparison,
} from '../../client/experiment/comparison.ts'
import { runId } from '../../identity/identity.ts'
import { episodeCountWords, isComplete } from '../../learning/evaluation/evaluation-completeness.ts'
import { judgedWords } from '../../learning/evaluation/judgement.ts'
import { measureNames } from '../../learning/evaluation/measure.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { findingWords } from '../runs/live-view.ts'
import { CallFault } from '../terminal/failure.ts'
import { type ReportOptions, type RunVersion, reporting, runVersion } from '../terminal/options.ts'
import { Table } from '../terminal/table.ts'
import { openTerminal } from '../terminal/terminal.ts'
import { differenceWords } from '../terminal/wording.ts'

interface CompareOptions extends ReportOptions {
  readonly measure?: string
}

/** `perdure compare A[@VERSION] B[@VERSION]`. */
export function compareCommand(): Command {
  return reporting(
    new Command('compare')
      .summary('compare two runs or versions on what both have played')
      .description(
        'Compares two policies on each suite that both were evaluated on, instance by instance: the difference of the measure of the suite, or of another one, with its 95 % interval. Without a version it is the newest that was evaluated.',
      )
      .argument('<run[@version]>', 'the reference', runVersion)
      .argument('<other[@version]>', 'the run to compare with it', runVersion)
      .option(
        '--measure <name>',
        `of which the difference is, the suite's own by default: ${measureNames.join(', ')}, or a metric of the task`,
      ),
    [
      'compare first second',
      'compare first@0 first        what training has changed',
      'compare first@20 second@20 --json',
      'compare first second --measure reward',
    ],
  ).action(async (before: RunVersion, after: RunVersion, options: CompareOptions) => {
    const terminal = openTerminal(options)
    await using store = await openStore(homeAt(options.home).storeFile, { create: false, access: 'read' })
    const suites = await compareOnSuites(store, sideOf(before), sideOf(after), options.measure)
    if (suites.length === 0 && options.measure !== undefined)
      await requireMeasure(store, [before, after], options.measure)
    if (suites.length === 0)
      throw new CallFault(
        'bad_argument',
        `${nameOf(before)} and ${nameOf(after)} were evaluated on no suite of the same name; \`perdure eval ${nameOf(before)}\` and \`perdure eval ${nameOf(after)}\` do it`,
      )
    terminal.report({ ...commonMeasure(suites), suites }, [tableOf(suites), ...suites.flatMap(remarkOn)])
  })
}

function sideOf({ run, version }: RunVersion): Side {
  return { run: runId(run), version }
}

function nameOf({ run, version }: RunVersion): string {
  return version === undefined ? run : `${run}@${version}`
}

/** @throws CallFault a measure that no common suite has */
async function requireMeasure(
  store: Store,
  [before, after]: readonly [RunVersion, RunVersion],
  name: string,
) {
  const common = await compareOnSuites(store, sideOf(before), sideOf(after))
  if (common.length > 0)
    throw new CallFault(
      'bad_flag',
      `--measure ${name}: no suite of both has it; use ${measureNames.join(', ')}, or a metric that the task declares`,
    )
}

function tableOf(suites: readonly SuiteComparison[]): Table {
  const names = new Set(suites.map(({ measure }) => measure.words))
  const words = names.size === 1 ? [...names].join() : 'result'
  return new Table({
    head: ['suite', 'policy', words, 'policy', words, 'difference', 'instances', 'better on', 'worse on'],
    rows: suites.map(({ suite, measure, before, after, instances, paired, unpaired }) => [
      suite,
      ...cellsOf(before),
      ...cellsOf(after),
      differenceOn(measure, paired ?? unpaired),
      instances,
      paired?.better ?? '',
      paired?.worse ?? '',
    ]),
  })
}

function commonMeasure(suites: readonly SuiteComparison[]): { readonly measure?: string } {
  const [name, ...others] = new Set(suites.map(({ measure }) => measure.of))
  return name === undefined || others.length > 0 ? {} : { measure: name }
}

function differenceOn(
  { isShare }: SuiteComparison['measure'],
  found: SuiteComparison['paired'] | SuiteComparison['unpaired'],
): string {
  return found === undefined ? '' : differenceWords(found, isShare)
}

function cellsOf({ run, version, measured, ...found }: SideFindings): readonly [string, string] {
  return [`${run}@${version}`, measured === undefined ? findingWords(found) : judgedWords(measured)]
}

function remarkOn({ suite, instances, before, after }: SuiteComparison): readonly string[] {
  const lost = [before, after].filter((side) => !isComplete(side))
  return [
    ...(instances > 0
      ? []
      : [
          `${suite}: ${before.run} and ${after.run} have played no instance in common, so the difference is not paired`,
        ]),
    ...lost.map(
      ({ run, version, ...counts }) =>
        `${suite}: ${run}@${version} has ${episodeCountWords(counts)}; \`perdure eval ${run}@${version} --suite ${suite}\` plays them again`,
    ),
  ]
}
