/**
 * `train` and `resume`: run a training run to its end on this machine and say what came of it.
 *
 * Invariants
 * - A configuration is checked before anything starts, and a run that is done is reported without a server.
 * - A signal leaves the run resumable, from when its configuration was accepted on; it says how to continue and ends with 130.
 */

import { basename, extname, join } from 'node:path'
import { Command } from 'commander'
import { checkRun } from '../../client/checks/task-check.ts'
import { compareFirstToLast } from '../../client/experiment/comparison.ts'
import { recordRun } from '../../client/run/run-start.ts'
import type { RunProgress, TrainingSession } from '../../client/session/training-session.ts'
import { loadConfig } from '../../config/files/loader.ts'
import type { PlanRates } from '../../config/plan.ts'
import { environments } from '../../envs/registry.ts'
import { reasonOf } from '../../faults/reason.ts'
import { runId, runNameAt } from '../../identity/identity.ts'
import { hasFailedToLearn } from '../../learning/run/learning-signal.ts'
import { packageRoot } from '../../machine/files/folder.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { openStore } from '../../storage/store.ts'
import { unlessLost, withWorkers } from '../terminal/command-session.ts'
import { CallFault, exitCodes } from '../terminal/failure.ts'
import { unlessAborted, watchInterrupts } from '../terminal/interrupt.ts'
import {
  type CacheFlag,
  cacheWanted,
  homeOption,
  homeToName,
  jsonOption,
  type MetricsFlags,
  metricsOptions,
  metricsPlace,
  noCacheOption,
  positiveNumber,
  type ReportOptions,
  runName,
  setOption,
  shellPath,
} from '../terminal/options.ts'
import { workWithoutOutput } from '../terminal/output.ts'
import { openTerminal, Painted, type Terminal } from '../terminal/terminal.ts'
import { runSeconds } from '../terminal/wording.ts'
import { dryRun } from './dry-run.ts'
import { finalReport, nextCommands, type RunEnd } from './final-report.ts'
import { changeOf, findFinished, findRun, pageOf, refuseTaken } from './run-record.ts'
import { stoppingWords, type WatchResult, watchRun } from './watch.ts'

/** The configuration of `train` without a file. */
const defaultConfigFile = join(packageRoot, 'examples', 'household.yaml')

interface TrainOptions extends ReportOptions, FollowFlags {
  readonly set?: readonly string[]
  readonly data?: string
  readonly run?: string
  readonly dryRun?: boolean
  readonly flops?: number
  readonly tokensPerSecond?: number
  readonly price?: number
}

type FollowFlags = MetricsFlags & CacheFlag

/** Adds the options of each command that follows a run. */
function withFollowOptions(command: Command): Command {
  for (const option of [noCacheOption(), ...metricsOptions(), homeOption(), jsonOption()])
    command.addOption(option)
  return command
}

/** `perdure train [CONFIG]`. */
export function trainCommand(): Command {
  return withFollowOptions(
    new Command('train')
      .summary('train a policy: start a run and follow it to its end')
      .description(
        'Starts a run and follows it to its end: warm start, multi-turn reinforcement learning, evaluations.\n' +
          'Every part of it is durable; after a crash or Ctrl-C, `perdure resume RUN` continues.',
      )
      .argument('[config]', 'YAML file; examples/household.yaml by default')
      .addOption(setOption())
      .option('--data <dir>', "official data: a folder with a folder of each task's name", shellPath)
      .option('--run <name>', 'name of the run; made of the file and the time by default', runName)
      .option('--dry-run', 'print the resolved configuration and the plan, start nothing')
      .option('--flops <n>', 'with --dry-run: useful operations a second of all that trains', positiveNumber)
      .option(
        '--tokens-per-second <n>',
        'with --dry-run: tokens that all servers sample together',
        positiveNumber,
      )
      .option('--price <n>', 'with --dry-run: an hour of all machines, in any currency', positiveNumber),
  )
    .addHelpText(
      'after',
      `
Examples:
  $ perdure train
  $ perdure train examples/smoke.yaml --run first
  $ perdure train --set training.updates=30 --set rollout.groupSize=16
  $ perdure train examples/alfworld.yaml --set tasks.0.data=/data/alfworld --dry-run
  $ perdure train examples/five-tasks.yaml --data /data
  $ perdure train --dry-run --flops 2e14 --tokens-per-second 2000 --price 5`,
    )
    .action(async (file: string | undefined, options: TrainOptions) => {
      const given = file ?? defaultConfigFile
      const config = loadConfig({
        file: given,
        set: options.set ?? [],
        tasks: environments.map(({ name }) => name),
      })
      const terminal = openTerminal(options)
      const rates = ratesOf(options)
      const report = (sentence: string) => terminal.say(sentence)
      const surroundings = { home: options.home, officialData: options.data, report }
      if (options.dryRun) {
        await dryRun(config, terminal, { ...surroundings, rates })
        return
      }
      workWithoutOutput()
      const run = options.run ?? runNameAt(basename(given, extname(given)), new Date())
      await refuseTaken(options.home, run)
      const checked = await checkRun(config, surroundings)
      for (const notice of checked.notices) terminal.say(notice)
      await follow(run, options, terminal, {
        begin: (session) => session.start(run, checked.config),
        keep: () => recordRun(options.home, run, checked.config),
      })
    })
}

/** Rates of the machines, for the plan. @throws CallFault */
function ratesOf({ dryRun: isDry, flops, tokensPerSecond, price }: TrainOptions): PlanRates {
  const isGiven = [flops, tokensPerSecond, price].some((rate) => rate !== undefined)
  if (isGiven && !isDry)
    throw new CallFault(
      'bad_argument',
      '--flops, --tokens-per-second and --price are for the plan: add --dry-run',
    )
  if (price !== undefined && (flops === undefined || tokensPerSecond === undefined))
    throw new CallFault('bad_argument', '--price needs --flops and --tokens-per-second, which give the hours')
  return { operationsPerSecond: flops, tokensPerSecond, pricePerHour: price }
}

/** `perdure resume RUN`. */
export function resumeCommand(): Command {
  return withFollowOptions(
    new Command('resume')
      .summary('continue a run after a crash, a stop or Ctrl-C')
      .description(
        'Continues a run where it stopped: at the last finished turn of each episode and the last published version.',
      )
      .argument('<run>', 'name of the run', runName)
      .addOption(setOption()),
  )
    .addHelpText(
      'after',
      '\nWhat may change is what lies ahead of the run; a run that is done continues with more `training.updates`.\n\nExamples:\n  $ perdure resume first\n  $ perdure resume first --home /data/perdure\n  $ perdure resume first --set training.updates=120',
    )
    .action(async (run: string, options: ReportOptions & FollowFlags & { readonly set?: string[] }) => {
      const terminal = openTerminal(options)
      const change = await changeOf(options.home, run, options.set ?? [])
      const finished = change === undefined ? await findFinished(options.home, run) : undefined
      if (finished !== undefined) {
        process.exitCode = await reportFinished(run, finished, options.home, terminal)
        return
      }
      for (const notice of change?.notices ?? []) terminal.say(notice)
      await follow(run, options, terminal, { begin: (session) => session.resume(run, change) })
    })
}

/** Says how a run ended. @returns the exit code */
function reportEnd(end: RunEnd, terminal: Terminal): number {
  const { progress, directory, seconds } = end
  const text = finalReport(end, terminal.colours, terminal.tableColumns)
  terminal.report({ ...progress, directory, seconds }, [new Painted(text)])
  return exitCodeOfRun(progress)
}

async function reportFinished(
  run: string,
  progress: RunProgress,
  home: string,
  terminal: Terminal,
): Promise<number> {
  const { directory, ...span } = await findRun(home, run)
  const seconds = runSeconds(span, Date.now())
  const course = await courseOf(home, run)
  return reportEnd(
    { progress, course, seconds, directory, uiUrl: undefined, home: homeToName(home) },
    terminal,
  )
}

async function courseOf(home: string, run: string): Promise<RunEnd['course']> {
  await using store = await openStore(homeAt(home).storeFile, { create: false, access: 'read' })
  return await compareFirstToLast(store, runId(run))
}

/** How a command takes up its run. */
interface Beginning {
  begin(session: TrainingSession): Promise<void>
  /** Makes the run known where a signal came before it began. */
  keep?(): Promise<unknown>
}

async function follow(
  run: string,
  options: ReportOptions & FollowFlags,
  terminal: Terminal,
  { begin, keep }: Beginning,
): Promise<void> {
  let span: { readonly created: number; readonly ended?: number } = { created: Date.now() }
  const directory = homeAt(options.home).run(runId(run)).dir
  const home = homeToName(options.home)
  let watched: WatchResult = { ended: false, progress: undefined }
  let course: RunEnd['course']
  let isKnown = keep === undefined
  let uiUrl: string | undefined
  let servedAt: string | undefined

  /** Says how it ended. @returns the exit code */
  function conclude(): number {
    const seconds = runSeconds(span, Date.now())
    const { progress } = watched
    if (watched.ended)
      return reportEnd(
        { progress: watched.progress, course, seconds, directory, uiUrl: servedAt, home },
        terminal,
      )
    terminal.report({ run, ...progress, directory, seconds, phase: 'interrupted', resumable: isKnown }, [
      isKnown
        ? `Run ${run} is interrupted and resumable. ${nextSteps(run, home)}`
        : 'Interrupted before anything began; the same command starts it.',
    ])
    return exitCodes.interrupted
  }

  using interrupt = watchInterrupts(() => {
    terminal.settle()
    terminal.say('left at once')
    return conclude()
  })
  const { signal } = interrupt
  try {
    const cache = cacheWanted(options)
    const opening = { home: options.home, metrics: metricsPlace(options), cache, signal }
    await withWorkers(opening, terminal, async (session) => {
      uiUrl = session.uiUrl
      await unlessAborted(signal, unlessLost(session, begin(session)))
      isKnown = true
      span = await findRun(options.home, run)
      const page = await pageOf(options.home, run)
      const where = page === undefined ? '' : `: ${page}`
      terminal.say(`\`perdure ui\` shows run ${run} in the browser, while it trains and afterwards${where}`)
      watched = await watchRun(session, run, terminal, signal, { page })
      // A live view says so itself.
      if (!watched.ended && (!terminal.interactive || watched.progress === undefined))
        terminal.say(stoppingWords)
    })
  } catch (error) {
    if (!signal.aborted && !watched.ended) throw error
    // The signal may make calls in progress fail, and a run that has ended is not undone by a failure to close.
    if (error !== signal.reason) terminal.say(reasonOf(error))
  }
  if (!isKnown) await keep?.()
  isKnown = true
  if (watched.ended) {
    span = await findRun(options.home, run)
    course = await courseOf(options.home, run)
  }
  servedAt = await stillServed(options.home, uiUrl)
  process.exitCode = conclude()
}

/** Where the UI is served after this command: another process may use the server. */
async function stillServed(home: string, uiUrl: string | undefined): Promise<string | undefined> {
  const { externalServer } = await import('../../temporal/connection.ts')
  if (uiUrl === undefined || externalServer() !== undefined) return uiUrl
  const { inspectTemporal } = await import('../../temporal/server/server.ts')
  const server = await inspectTemporal(homeAt(home).dir)
  return server?.running === true && server.users > 0 ? uiUrl : undefined
}

function nextSteps(run: string, home: string | undefined): string {
  return ['Next:', ...nextCommands(run, home, false)].join('\n')
}

// A run that never learnt has failed as a training, though its workflow is done.
function exitCodeOfRun(progress: RunProgress): number {
  const { phase } = progress
  if (phase === 'done') return hasFailedToLearn(progress) ? exitCodes.failed : exitCodes.done
  return phase === 'failed' ? exitCodes.failed : exitCodes.interrupted
}
