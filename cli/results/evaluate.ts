/**
 * `eval RUN[@VERSION]`: measure one checkpoint over one suite.
 *
 * Invariants
 * - The same checkpoint, suite and seed are measured once; asking again plays the episodes that were lost, and else
 *   gives the stored result.
 * - A suite or a version that the run does not have is reported before anything starts.
 */
import { Command } from 'commander'
import type { MeasuredSuite } from '../../client/run/evaluations.ts'
import { episodeCountWords, isComplete } from '../../learning/evaluation/evaluation-completeness.ts'
import { judgedFigures, judgedWords } from '../../learning/evaluation/judgement.ts'
import { wilsonInterval } from '../../learning/statistics/interval.ts'
import { percent } from '../../learning/statistics/percent.ts'
import { shareWithInterval } from '../runs/live-view.ts'
import { requireMeasurable } from '../runs/run-record.ts'
import { askWorkers, withClient } from '../terminal/command-session.ts'
import { CallFault } from '../terminal/failure.ts'
import {
  positiveInteger,
  type ReportOptions,
  type RunVersion,
  reporting,
  runVersion,
} from '../terminal/options.ts'
import { openTerminal, type Terminal } from '../terminal/terminal.ts'

interface EvaluateOptions extends ReportOptions {
  readonly suite?: string
  readonly episodes?: number
  readonly samples?: number
  readonly now?: boolean
}

/** `perdure eval RUN[@VERSION]`. */
export function evaluateCommand(): Command {
  return reporting(
    new Command('eval')
      .summary('measure a checkpoint of a run over a suite')
      .description(
        'Plays a suite with one checkpoint of a run and prints its success with the 95 % interval.',
      )
      .argument('<run[@version]>', 'run, and the version where it is not the latest', runVersion)
      .option('--suite <name>', "suite of the run's configuration; the first by default")
      .option('--episodes <n>', "number of episodes; the suite's own by default", positiveInteger)
      .option('--samples <k>', "episodes of each instance; the suite's own by default", positiveInteger)
      .option('--now', 'ask a live run to evaluate its current version, and do not wait for the result'),
    [
      'eval first',
      'eval first@20 --suite held_out --episodes 500',
      'eval first --episodes 50 --samples 8',
      'eval first --now',
    ],
  ).action(evaluate)
}

async function evaluate(asked: RunVersion, options: EvaluateOptions): Promise<void> {
  const { run, version } = asked
  const { suite, episodes, samples } = options
  const terminal = openTerminal(options)
  if (options.now === true) {
    await askLiveRun(asked, options, terminal)
    return
  }
  await requireMeasurable(options.home, run, { suite, version })
  await askWorkers(
    options.home,
    terminal,
    (session) => session.evaluate(run, { version, suite, episodes, samples }),
    (summary) => {
      const { success, n, passAt = {} } = summary
      const judged = summary.measured === undefined ? '' : `, judged by ${judgedWords(summary.measured)}`
      const interval = summary.interval ?? wilsonInterval(Math.round(success * n), n)
      terminal.report({ run, ...summary, interval }, [
        `${run}@${summary.version} on ${summary.suite}: ${shareWithInterval(success, n, interval)} of ${n} episodes succeed${judged}`,
        ...measureWords(summary),
        ...lossWords(summary),
        ...Object.entries(passAt).map(([k, value]) => `pass@${k}  ${percent(value)}`),
      ])
    },
  )
}

/** The run itself starts the evaluation, with its own workers. */
async function askLiveRun(
  { run, version }: RunVersion,
  { home, suite, episodes, samples }: EvaluateOptions,
  terminal: Terminal,
): Promise<void> {
  if (version !== undefined || episodes !== undefined || samples !== undefined)
    throw new CallFault(
      'bad_flag',
      '--now evaluates the current version over the whole suite: leave out @VERSION, --episodes and --samples',
    )
  await requireMeasurable(home, run, { suite, version })
  const evaluation = await withClient(home, terminal, (session) => session.evaluateNow(run, suite))
  terminal.report({ run, evaluation }, [
    `Run ${run} plays ${evaluation} beside its training; \`perdure status ${run}\` shows the result.`,
  ])
}

/** @example ['mean reward 1.88 (1.85 to 1.91), turns 3.2 (3.0 to 3.4), tokens 41 (39 to 43)'] */
function measureWords({ measures: found }: MeasuredSuite): readonly string[] {
  if (found === undefined) return []
  return [judgedFigures(found).map(judgedWords).join(', ')]
}

/** The lost episodes and the consequence; empty when none was lost. */
function lossWords(summary: MeasuredSuite): readonly string[] {
  const { lost = {} } = summary
  const kinds = Object.entries(lost).map(([outcome, episodes]) => `${outcome} ${episodes}`)
  if (kinds.length === 0) return []
  const counts = `${episodeCountWords(summary)} (${kinds.join(', ')})`
  return isComplete(summary)
    ? [counts]
    : [`${counts}: too few to count. The same command plays the lost episodes again.`]
}
