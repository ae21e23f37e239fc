/**
 * Training from a program: a run that is started or resumed here, to be watched and steered.
 *
 * Invariants
 * - A configuration is checked before anything starts.
 * - Looking never changes the run; a look that fails is reported and tried again.
 * - Closing leaves the run resumable, and nothing running that was started here.
 */
import type { ConfigInput } from '../config/schema/schema.ts'
import type { EnvironmentDefinition } from '../envs/contract/environment.ts'
import { reasonOf } from '../faults/reason.ts'
import { runId, runNameAt } from '../identity/identity.ts'
import { clock } from '../machine/services/clock.ts'
import { defaultHome, homeAt } from '../storage/disk/home.ts'
import type { MetricsLine } from '../storage/metrics/metrics.ts'
import { openStore } from '../storage/store.ts'
import { SessionFault } from './run/session-fault.ts'
import type {
  EvaluationOptions,
  EvaluationSummary,
  RunProgress,
  SettingsChange,
  TrainingSession,
} from './session/training-session.ts'

// Often enough to feel live, rare enough to cost nothing beside the run.
const lookEveryMs = 1000

export interface TrainingOptions {
  /** Directory that keeps runs, checkpoints and the embedded server; `.perdure` by default. */
  readonly home?: string
  /** Environments of the program itself; where a later process must find them, use `tasks.N.from`. */
  readonly environments?: readonly EnvironmentDefinition[]
  /** Receives the messages of workers and server; none by default. */
  readonly log?: (line: string) => void
}

/** A run with workers of this process. `await using` closes it. */
export interface Training extends AsyncDisposable, AsyncIterable<RunProgress> {
  readonly run: string
  /** Holds metrics, batches and checkpoints. */
  readonly directory: string
  /** Address of the Temporal UI, where there is one. */
  readonly uiUrl: string | undefined
  /** How far the run is now. Iterating over the training gives it once a second, the last time at the end. */
  progress(): Promise<RunProgress>
  /** The lines of `metrics.jsonl` in the order in which they came, and each new one, until the run ends. */
  metrics(): AsyncIterable<MetricsLine>
  /** No update starts and no group is admitted until `continue`. */
  pause(): Promise<void>
  continue(): Promise<void>
  /** Ends the run after the update in progress, so that it can be resumed; one that has ended stays as it is. */
  stop(): Promise<void>
  /** New values of live settings by their keys in a configuration, e.g. `learning.learningRate`, `tasks.0.weight`. */
  change(settings: SettingsChange): Promise<void>
  /** Keeps the checkpoint of the current version. @returns the version */
  checkpoint(): Promise<number>
  /** After the update in progress the run continues from that version's weights, as a new version. */
  rollBack(version: number): Promise<void>
  /** Evaluates one checkpoint; the latest by default. */
  evaluate(options?: EvaluationOptions): Promise<EvaluationSummary>
  /** Settles when the run ends. @throws SessionFault `no_workers` when this process stops working on it before */
  result(): Promise<RunProgress>
  close(): Promise<void>
}

/**
 * Starts a run; its paths start at the working directory.
 * @param options.run name of the run; made of the time by default
 * @throws ConfigFault, SessionFault `run_exists`
 * @example
 * await using training = await train({ tasks: [{ task: 'guess-number', from: './guess-number' }] })
 * for await (const { step, success } of training) console.log(step, success)
 */
export async function train(
  config: ConfigInput,
  options: TrainingOptions & { readonly run?: string } = {},
): Promise<Training> {
  const { home = defaultHome, environments = [] } = options
  const { resolveConfig } = await import('../config/files/loader.ts')
  const { checkRun } = await import('./checks/task-check.ts')
  const resolved = resolveConfig(config)
  const checked = await checkRun(resolved, { home, own: environments })
  for (const notice of checked.notices) options.log?.(notice)
  const run = runId(options.run ?? runNameAt('run', new Date(clock.now())))
  return open(run, options, (session) => session.start(run, checked.config))
}

/** Continues a run where it stopped; a finished one only gives its result. @throws SessionFault `unknown_run` */
export async function resume(run: string, options: TrainingOptions = {}): Promise<Training> {
  return open(runId(run), options, (session) => session.resume(run))
}

async function open(
  run: string,
  options: TrainingOptions,
  begin: (session: TrainingSession) => Promise<void>,
): Promise<Training> {
  const { home = defaultHome, environments: own = [], log = () => undefined } = options
  const { openSession } = await import('./session/training-session.ts')
  const { findEnvironment } = await import('../envs/registry.ts')
  const session = await openSession({
    home,
    roles: 'all',
    log,
    findEnvironment: (name) => own.find((environment) => environment.name === name) ?? findEnvironment(name),
  })
  try {
    await begin(session)
  } catch (error) {
    await session.close()
    throw error
  }
  return trainingOf(session, run, home, log)
}

function trainingOf(
  session: TrainingSession,
  run: string,
  home: string,
  log: (line: string) => void,
): Training {
  const { storeFile, run: directoryOf } = homeAt(home)
  const { dir: directory } = directoryOf(runId(run))
  const ending = resultOf(session, run)
  // A caller that never asks for the result does not fail with it.
  ending.catch(() => undefined)
  let closing: Promise<void> | undefined
  const close = () => (closing ??= session.close())

  async function* watch(): AsyncGenerator<RunProgress> {
    const ended = ending.then((progress) => ({ progress }))
    for (;;) {
      const look = await Promise.race([ended, lookAt(session, run, log)])
      if (look !== undefined) yield look.progress
      const end = await Promise.race([ended, clock.sleep(lookEveryMs, { ref: false })])
      if (end === undefined) continue
      if (end !== look) yield end.progress
      return
    }
  }

  async function* metrics(): AsyncGenerator<MetricsLine> {
    await using store = await openStore(storeFile)
    let mark = 0
    for await (const _ of watch()) {
      const { lines, mark: next } = await store.metrics.after(runId(run), mark)
      mark = next
      yield* lines
    }
  }

  return {
    run,
    directory,
    uiUrl: session.uiUrl,
    progress: () => session.progress(run),
    metrics,
    pause: () => session.pause(run),
    continue: () => session.continue(run),
    stop: () => session.stop(run).catch(unlessEnded),
    change: (settings) => session.change(run, settings),
    checkpoint: () => session.checkpoint(run),
    rollBack: (version) => session.rollBack(run, version),
    evaluate: (wish = {}) => session.evaluate(run, wish),
    result: () => ending,
    close,
    [Symbol.asyncIterator]: watch,
    [Symbol.asyncDispose]: close,
  }
}

function unlessEnded(error: unknown): void {
  if (!(error instanceof SessionFault && error.kind === 'not_running')) throw error
}

async function resultOf(session: TrainingSession, run: string): Promise<RunProgress> {
  const deserted = session.stopped.then(() => {
    throw new SessionFault('no_workers', `the workers of this process stopped before run ${run} ended`)
  })
  return Promise.race([session.result(run), deserted])
}

async function lookAt(
  session: TrainingSession,
  run: string,
  log: (line: string) => void,
): Promise<{ progress: RunProgress } | undefined> {
  try {
    return { progress: await session.progress(run) }
  } catch (error) {
    log(`no answer from run ${run}: ${reasonOf(error)}`)
    return undefined
  }
}
