/**
 * `experiment FILE`: arms and seeds that a file states, run to their end; `experiment report`: what came of them.
 *
 * Invariants
 * - A file is checked, and held against what began under its name, before anything starts.
 * - A signal leaves the experiment resumable: the same command continues it, as after `kill -9`.
 */

import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { Command, Option } from 'commander'
import type { ExperimentReport } from '../../client/experiment/experiment-report.ts'
import { runsOf } from '../../client/experiment/experiments.ts'
import { stateExperiment } from '../../client/experiment/stating.ts'
import { findReport, readReports, writeReport } from '../../client/experiment/written-reports.ts'
import { writeCard } from '../../client/referee/card-making.ts'
import { type ExperimentStatement, loadExperiment } from '../../config/files/experiment.ts'
import type { Choices } from '../../config/files/grid.ts'
import { environments } from '../../envs/registry.ts'
import { buildName } from '../../machine/processes/build-name.ts'
import { typedWords } from '../../machine/processes/typed-command.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { unlessLost, withWorkers } from '../terminal/command-session.ts'
import { CallFault, exitCodes } from '../terminal/failure.ts'
import { unlessAborted, watchInterrupts } from '../terminal/interrupt.ts'
import {
  type CacheFlag,
  cacheWanted,
  noCacheOption,
  positiveInteger,
  type ReportOptions,
  reporting,
  shellPath,
} from '../terminal/options.ts'
import { workWithoutOutput } from '../terminal/output.ts'
import { openTerminal, type Terminal } from '../terminal/terminal.ts'
import { experimentPlanCommand } from './experiment-plan.ts'
import { reportLines } from './experiment-table.ts'
import { watchExperiment } from './experiment-watch.ts'

interface ExperimentOptions extends ReportOptions, CacheFlag {
  readonly parallel?: number
  readonly data?: string
  readonly with?: readonly string[]
}

/** `perdure experiment FILE`, `perdure experiment report FILE|NAME`. */
export function experimentCommand(): Command {
  const command = reporting(
    new Command('experiment')
      .summary('run arms × seeds that a file states, and judge its claims')
      .description(
        'Runs all arms and seeds of an experiment, each as a durable run, and reports the results. The file states arms, seeds,\n' +
          'measurements and claims before anything runs. The same command continues an experiment that was interrupted.',
      )
      .argument('<file>', 'YAML file; examples/experiments has some')
      .option(
        '--parallel <n>',
        'runs in progress at once; two by default, more where there are cores for them',
        positiveInteger,
      )
      .option('--data <dir>', "official data: a folder with a folder of each task's name", shellPath)
      .addOption(withOption())
      .addOption(noCacheOption()),
    [
      'experiment examples/experiments/smoke.yaml',
      'experiment examples/experiments/smoke.yaml --parallel 1',
      'experiment examples/experiments/smoke.yaml --with results/smoke.json',
      'experiment report examples/experiments/smoke.yaml --out results',
      'experiment plan examples/experiments/smoke.yaml --points 10',
    ],
  ).action(runExperiment)
  return command.addCommand(reportCommand()).addCommand(experimentPlanCommand())
}

function reportCommand(): Command {
  return reporting(
    new Command('report')
      .summary('report the results of the arms of an experiment and the verdicts on its claims')
      .description(
        'Reports an experiment, also while it runs: success of each arm and seed, paired differences with their intervals and tests,\n' +
          'costs, and with --out the report as JSON, all figures as CSV and learning curves as SVG.',
      )
      .argument('<file|name>', 'its file, or its name')
      .addOption(withOption())
      .option('--out <dir>', 'folder that the files are written to', shellPath),
    ['experiment report smoke', 'experiment report examples/experiments/smoke.yaml --json'],
  ).action(async (named: string, options: ReportCall) => {
    const terminal = openTerminal(options)
    await report(named, options, terminal)
  })
}

/** Reports that were written elsewhere. */
function withOption(): Option {
  return new Option(
    '--with <reports...>',
    'reports of the same experiment, NAME.json as --out writes it: runs that are done there are not done again, and are reported',
  )
}

interface ReportCall extends ReportOptions {
  /** The files alone are wanted. */
  readonly quiet?: boolean
  readonly out?: string
  readonly with?: readonly string[]
}

/** Runs an experiment to its end and writes its report. @returns false where it was interrupted, or a run failed */
export async function writtenExperiment(
  file: string,
  options: Omit<ExperimentOptions, 'json'> & { readonly out: string; readonly quiet: true },
): Promise<boolean> {
  await runExperiment(file, options)
  return process.exitCode === exitCodes.done
}

async function runExperiment(file: string, options: ExperimentOptions & ReportCall): Promise<void> {
  const terminal = openTerminal(options)
  const tasks = environments.map(({ name }) => name)
  const stated = await stateExperiment(file, { home: options.home, tasks, officialData: options.data })
  const { statement, known } = stated
  const { name } = statement
  const files = options.with ?? []
  const done = readReports(files, statement).runs.map(({ run }) => run)
  for (const notice of stated.notices) terminal.say(notice)
  workWithoutOutput()
  const parallel = options.parallel ?? usualParallel(statement)
  let isBegun = known !== undefined
  let hasEnded = false
  using interrupt = watchInterrupts(() => {
    terminal.settle()
    return exitCodes.interrupted
  })
  const { signal } = interrupt
  try {
    const opening = { home: options.home, cache: cacheWanted(options), signal }
    await withWorkers(opening, terminal, async (session) => {
      const whenThere = async <T>(work: Promise<T>) => unlessAborted(signal, unlessLost(session, work))
      const nextDue = () => dueOf(statement, isBegun, { home: options.home, files })
      // Each turn is a look: the seeds that are due are run, and what they show says whether more are.
      for (let now = await nextDue(), before = 0; now.due.length > before; now = await nextDue()) {
        const { due, choices } = now
        before = due.length
        const later = runsOf(statement).filter(({ seed }) => !due.includes(seed))
        const count = runsOf(statement).length - later.length
        const elsewhere = [...done, ...later.map(({ run }) => run)]
        const begin = { parallel, elsewhere, choices }
        const { isNew } = await whenThere(session.beginExperiment(statement, begin))
        isBegun = true
        terminal.say(
          `experiment ${name} ${isNew ? 'begins' : 'continues'}: ${count} runs, ${parallel} at a time${done.length === 0 ? '' : `, ${done.length} runs done elsewhere`}`,
        )
        hasEnded = await watchExperiment(session, { name, elsewhere }, terminal, signal)
        if (!hasEnded) return
        await whenThere(session.playLostEpisodes(name, elsewhere))
      }
    })
  } catch (error) {
    if (!signal.aborted) throw error
  }
  if (!hasEnded) {
    terminal.report({ experiment: name, phase: 'interrupted', resumable: isBegun }, [
      `Interrupted; \`perdure ${sameCall(file, options)}\` continues where it stopped.`,
    ])
    process.exitCode = exitCodes.interrupted
    return
  }
  const reported = await report(file, options, terminal)
  const { due } = reported
  process.exitCode = reported.runs.every(({ seed, status }) => status === 'done' || !due.includes(seed))
    ? exitCodes.done
    : exitCodes.failed
}

/** The seeds that are to be run so far: those for tuning, or of the first look, until what is there asks for more. */
async function dueOf(
  statement: ExperimentStatement,
  isBegun: boolean,
  { home, files }: { readonly home: string; readonly files: readonly string[] },
): Promise<{ readonly due: readonly number[]; readonly choices: Choices }> {
  const { name, seeds, design, tune } = statement
  if (!isBegun || (design === undefined && tune === undefined))
    return { due: tune?.seeds ?? seeds.slice(0, design?.looks[0]), choices: {} }
  const found = await findReport(homeAt(home), { name, given: statement, files, isWritten: false })
  const chosen = found?.arms.flatMap(({ arm, chosen: point }) => (point === undefined ? [] : [[arm, point]]))
  return { due: found?.due ?? seeds, choices: Object.fromEntries(chosen ?? []) }
}

/** The words of the same call: without its data and reports the experiment would be another one. */
export function sameCall(
  file: string,
  { data, parallel, with: files = [], cache }: ExperimentOptions,
): string {
  return typedWords([
    ...['experiment', file],
    ...(data === undefined ? [] : ['--data', data]),
    ...(parallel === undefined ? [] : ['--parallel', String(parallel)]),
    ...(files.length === 0 ? [] : ['--with', ...files]),
    ...(cache === false ? ['--no-cache'] : []),
  ])
}

/** Two overlap, because one waits for its trainer while the other plays; more where each has its cores. */
function usualParallel({ arms, seeds }: ExperimentStatement): number {
  const threads = Math.max(...arms.map(({ config }) => config.policy.threads))
  const atOnce = Math.max(2, Math.floor(availableParallelism() / threads))
  return Math.min(atOnce, arms.length * seeds.length)
}

/** Reports an experiment. @param named its file, or its name */
async function report(
  named: string,
  { home: directory, out, with: files = [], quiet = false }: ReportCall,
  terminal: Terminal,
): Promise<ExperimentReport> {
  const given = existsSync(named) ? loadExperiment(named).statement : undefined
  const name = given?.name ?? named
  if (!/^[a-z0-9][a-z0-9_-]{0,30}$/.test(name))
    throw new CallFault(
      'bad_argument',
      `FILE|NAME is "${named}": there is no such file, and no experiment is called so`,
    )
  const found = await findReport(homeAt(directory), { name, given, files, isWritten: out !== undefined })
  if (found === undefined)
    throw new CallFault('bad_argument', `FILE|NAME is "${named}": ${homeAt(directory).dir} has no experiment`)
  const { outcomes: _, ...reported } = found
  const written = out === undefined ? [] : [...writeReport(found, out)]
  const card = out && (await writeCard(homeAt(directory), reported, { folder: out, perdure: buildName() }))
  if (card) written.push(card)
  if (quiet) return reported
  terminal.report(out === undefined ? reported : { ...reported, files: written }, [
    ...reportLines(reported),
    ...(written.length === 0 ? [] : [`Written: ${written.join(', ')}`]),
  ])
  return reported
}
