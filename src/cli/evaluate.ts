/**
 * `eval RUN[@VERSION]`: measure one checkpoint over one suite.
 *
 * Invariants
 * - The same checkpoint, suite and seed are measured once; asking again gives the stored result.
 */
import { Command } from 'commander'
import { wilsonInterval } from '../learning/interval.ts'
import { exitCodes } from './failure.ts'
import { watchInterrupts } from './interrupt.ts'
import { shareWithInterval } from './live-view.ts'
import {
  homeOption,
  jsonOption,
  positiveInteger,
  type ReportOptions,
  type RunVersion,
  runVersion,
} from './options.ts'
import { openTerminal } from './terminal.ts'

interface EvaluateOptions extends ReportOptions {
  readonly suite?: string
  readonly episodes?: number
}

/** `perdure eval RUN[@VERSION]`. */
export function evaluateCommand(): Command {
  return new Command('eval')
    .summary('measure a checkpoint of a run over a suite')
    .description('Plays a suite with one checkpoint of a run and prints its success with the 95 % interval.')
    .argument('<run[@version]>', 'run, and the version where it is not the latest', runVersion)
    .option('--suite <name>', "suite of the run's configuration; the first by default")
    .option('--episodes <n>', "number of episodes; the suite's own by default", positiveInteger)
    .addOption(homeOption())
    .addOption(jsonOption())
    .addHelpText(
      'after',
      '\nExamples:\n  $ perdure eval first\n  $ perdure eval first@20 --suite held_out --episodes 500',
    )
    .action(async ({ run, version }: RunVersion, options: EvaluateOptions) => {
      const terminal = openTerminal(options)
      using interrupt = watchInterrupts(() => undefined)
      const { openSession } = await import('../workers/training-session.ts')
      const session = await openSession({
        home: options.home,
        roles: 'all',
        log: (line) => terminal.say(line),
      })
      try {
        const left = new Promise<undefined>((resolve) =>
          interrupt.signal.addEventListener('abort', () => resolve(undefined), { once: true }),
        )
        const asked = session.evaluate(run, {
          ...(version === undefined ? {} : { version }),
          ...(options.suite === undefined ? {} : { suite: options.suite }),
          ...(options.episodes === undefined ? {} : { episodes: options.episodes }),
        })
        const summary = await Promise.race([asked, left])
        if (summary === undefined) {
          asked.catch(() => undefined)
          terminal.say('Interrupted; the same command goes on where it stood.')
          process.exitCode = exitCodes.interrupted
          return
        }
        const { suite, success, n } = summary
        terminal.report({ run, ...summary, interval: wilsonInterval(Math.round(success * n), n) }, [
          `${run}@${summary.version} on ${suite}: ${shareWithInterval(success, n)} of ${n} episodes succeed`,
        ])
      } finally {
        await session.close()
      }
    })
}
