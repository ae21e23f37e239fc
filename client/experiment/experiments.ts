/**
 * Begins, continues and watches experiments. `config/files/experiment.ts` has their statement, `workflows/experiment.ts` the order of
 * their runs.
 *
 * Invariants
 * - [EXPERIMENT-START-1] The statement is stored before the first run begins, and the runs follow the stored one: another
 *   statement under the same name is refused.
 * - [EXPERIMENT-START-2] Beginning an experiment that has begun continues it: runs that failed or were stopped go on when their turn
 *   comes, those that are done stay as they are.
 */
import { isDeepStrictEqual } from 'node:util'
import type { ExperimentStatement } from '../../config/files/experiment.ts'
import type { Choices } from '../../config/files/grid.ts'
import { withoutHome } from '../../config/files/home-paths.ts'
import { removedInUse, withoutRemoved } from '../../config/files/stored-config.ts'
import {
  continueExperiment,
  type ExperimentPlan,
  type ExperimentRun,
  type ExperimentRunEnding,
  type RunProgress,
} from '../../contract/messages.ts'
import { taskQueue, workflowTaskTimeout } from '../../contract/task-queues.ts'
import { reasonOf } from '../../faults/reason.ts'
import {
  type ExperimentName,
  experimentId,
  experimentName,
  experimentRunId,
  type RunId,
  workflowIdOf,
} from '../../identity/identity.ts'
import type { RunStatus } from '../../learning/run/run-phase.ts'
import { clock } from '../../machine/services/clock.ts'
import type { Home } from '../../storage/disk/home.ts'
import type { Store } from '../../storage/store.ts'
import type { experiment } from '../../workflows/experiment.ts'
import { resultOf, type SessionParts } from '../run/run-calls.ts'
import { refuseFormerExecution } from '../run/run-start.ts'
import { SessionFault } from '../run/session-fault.ts'

/** A run of an experiment, as far as it is. */
export interface ExperimentRunCourse {
  readonly run: RunId
  readonly arm: string
  readonly seed: number
  readonly status: RunStatus | 'waiting'
  /** Why it failed or stopped, in words. */
  readonly detail?: string
  /** Present while the run is in progress and answers. */
  readonly progress?: RunProgress
}

export interface RunExperiments {
  /**
   * Begins or continues an experiment.
   * @param options.parallel runs in progress at once
   * @param options.elsewhere runs that are not begun here: done elsewhere, or of a later look
   * @param options.choices the points that arms with a grid are; without one, no run of such an arm is begun
   * @throws SessionFault `experiment_changed`, `run_exists`
   */
  beginExperiment(
    statement: ExperimentStatement,
    options: {
      readonly parallel: number
      readonly elsewhere?: readonly RunId[]
      readonly choices?: Choices
    },
  ): Promise<{ readonly isNew: boolean }>
  /** Its runs, in the order in which they begin. @throws SessionFault `unknown_experiment` */
  experimentCourse(name: string): Promise<readonly ExperimentRunCourse[]>
  /** Settles when all its runs have ended, except those done elsewhere. @throws SessionFault `unknown_experiment`, `no_result` */
  experimentResult(name: string, elsewhere?: readonly RunId[]): Promise<readonly ExperimentRunEnding[]>
}

interface ExperimentParts extends SessionParts {
  progress(run: string): Promise<RunProgress>
  resume(run: string): Promise<void>
}

export function createRunExperiments(parts: ExperimentParts): RunExperiments {
  const { store, home, client, homeName, log } = parts
  const handleOf = (name: ExperimentName) =>
    client.workflow.getHandle<typeof experiment>(workflowIdOf(homeName, experimentId(name)))

  return {
    async beginExperiment(given, { parallel, elsewhere = [], choices = {} }) {
      const name = experimentName(given.name)
      const { statement, isNew } = await insertStatement({ store, home }, name, given)
      const open = (arm: string) =>
        choices[arm] === undefined && statement.arms.some(({ pointOf }) => pointOf === arm)
      const runs = runsHere(statement, elsewhere, choices).filter(({ arm }) => !open(arm))
      if (await areAllDone(store, runs)) return { isNew }
      for (const { run } of runs) await resumeUnlessEnded(parts, run)
      const dashboardUrl = statement.arms[0]?.config.orchestration.dashboardUrl
      const plan: ExperimentPlan = {
        experiment: name,
        runs,
        parallel,
        // Empty: no links.
        ...(dashboardUrl ? { dashboardUrl } : {}),
      }
      await client.workflow.signalWithStart<typeof experiment, [{ parallel: number }]>('experiment', {
        workflowId: workflowIdOf(homeName, experimentId(name)),
        taskQueue: taskQueue('orchestrator', homeName),
        workflowTaskTimeout,
        args: [plan],
        signal: continueExperiment,
        signalArgs: [{ parallel }],
        staticSummary: `experiment ${name} · ${runs.length} runs`,
      })
      return { isNew }
    },

    async experimentCourse(name) {
      const { statement } = await knownExperiment(store, home, name)
      const courses = runsOf(statement).map(async ({ run, arm, seed }): Promise<ExperimentRunCourse> => {
        const record = await store.runs.get(run)
        const { status = 'waiting' as const, detail } = record ?? {}
        const course: ExperimentRunCourse = {
          run,
          arm,
          seed,
          status,
          ...(detail === undefined ? {} : { detail }),
        }
        if (status !== 'running') return course
        try {
          return { ...course, progress: await parts.progress(run) }
        } catch (error) {
          // One missed look is a busy worker; the next one sees it.
          log(`no answer from run ${run}: ${reasonOf(error)}`)
          return course
        }
      })
      return await Promise.all(courses)
    },

    async experimentResult(given, elsewhere = []) {
      const { name, statement } = await knownExperiment(store, home, given)
      const runs = runsHere(statement, elsewhere)
      if (await areAllDone(store, runs)) return runs.map(({ run }) => ({ run, status: 'done' }))
      return resultOf(`experiment ${name}`, handleOf(name))
    },
  }
}

/** An experiment as it was stated when it began. */
export interface KnownExperiment {
  readonly name: ExperimentName
  readonly statement: ExperimentStatement
  readonly created: number
  readonly ended?: number
}

/** @throws SessionFault `unknown_experiment` */
export async function knownExperiment(
  store: Pick<Store, 'experiments'>,
  home: Pick<Home, 'dir'>,
  name: string,
): Promise<KnownExperiment> {
  const found = await storedExperiment(store, name)
  if (found !== undefined) return found
  const others = (await store.experiments.list()).map((each) => each.name)
  const known = others.length === 0 ? 'it has none' : `it has ${others.join(', ')}`
  throw new SessionFault('unknown_experiment', `${home.dir} has no experiment "${name}"; ${known}`)
}

/** The same; undefined where there is none of that name. */
export async function storedExperiment(
  store: Pick<Store, 'experiments'>,
  name: string,
): Promise<KnownExperiment | undefined> {
  const stored = await store.experiments.get(experimentName(name))
  return stored && { ...stored, statement: stored.statement as ExperimentStatement }
}

/** Whether a file is, to the byte, the one that an experiment began with. */
export function isSameFile(one: ExperimentStatement, other: ExperimentStatement): boolean {
  return one.source.sha256 === other.source.sha256 && one.base?.sha256 === other.base?.sha256
}

/**
 * The runs of a statement: all arms of a seed, then those of the next one, so that the clocks of a pair ran in the same hours. Points
 * of grids come first, with the tuning seeds.
 */
export function runsOf(statement: ExperimentStatement, choices: Choices = {}): readonly ExperimentRun[] {
  const { name, arms, seeds, tune } = statement
  const warmStarts: string[] = []
  const runsWith = (seed: number, own: typeof arms) =>
    own.map(({ arm, config }): ExperimentRun => {
      const point = choices[arm]
      const chosen = arms.find((each) => each.arm === point)?.config ?? config
      const { tasks, policy, warmStart, rollout } = chosen
      const text = JSON.stringify([seed, tasks, policy, warmStart, rollout.maxTokensPerTurn])
      if (!warmStarts.includes(text)) warmStarts.push(text)
      const run = experimentRunId(experimentName(name), arm, seed)
      return { run, arm, seed, ...(point && { point }), warmStart: warmStarts.indexOf(text) }
    })
  const points = arms.filter(({ pointOf }) => pointOf !== undefined)
  const others = arms.filter(({ pointOf }) => pointOf === undefined)
  return [
    ...(tune?.seeds ?? []).flatMap((seed) => runsWith(seed, points)),
    ...seeds.flatMap((seed) => runsWith(seed, others)),
  ]
}

function runsHere(
  statement: ExperimentStatement,
  elsewhere: readonly RunId[],
  choices?: Choices,
): readonly ExperimentRun[] {
  return runsOf(statement, choices).filter(({ run }) => !elsewhere.includes(run))
}

/** Differences between the statement that an experiment began with and another, in words; empty where they agree. */
export function statementChanges(before: ExperimentStatement, now: ExperimentStatement): readonly string[] {
  if (isSameFile(before, now)) return []
  const keys = ['seeds', 'tune', 'suites', 'version', 'hypotheses', 'test', 'design', 'level'] as const
  const changed = keys.filter((key) => !isDeepStrictEqual(plain(before[key]), plain(now[key])))
  const armsBefore = new Map(
    before.arms.map(({ arm, config }) => {
      const isKept = removedInUse(config).length > 0
      return [arm, plain(isKept ? config : withoutRemoved(config))]
    }),
  )
  const arms = now.arms.filter(({ arm, config }) => !isDeepStrictEqual(armsBefore.get(arm), plain(config)))
  const gone = before.arms.filter(({ arm }) => now.arms.every((each) => each.arm !== arm))
  return [...changed, ...[...arms, ...gone].map(({ arm }) => `arm ${arm}`)]
}

/** As it is stored. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value))
}

async function insertStatement(
  { store, home }: { readonly store: Store; readonly home: Home },
  name: ExperimentName,
  given: ExperimentStatement,
): Promise<{ readonly statement: ExperimentStatement; readonly isNew: boolean }> {
  const statement: ExperimentStatement = {
    ...given,
    arms: given.arms.map((arm) => ({ ...arm, config: withoutHome(arm.config, home.dir) })),
  }
  const stored = await storedExperiment(store, name)
  if (stored !== undefined) {
    refuseChanged(stored, statement)
    return { statement: stored.statement, isNew: false }
  }
  for (const { run } of runsOf(statement))
    if ((await store.runs.get(run)) !== undefined)
      throw new SessionFault(
        'run_exists',
        `run ${run} exists in ${home.dir} and belongs to no experiment ${name}: give the experiment another name`,
      )
  await store.experiments.insert({ name, statement, created: clock.now() })
  return { statement, isNew: true }
}

/** @throws SessionFault `experiment_changed` */
export function refuseChanged(stored: KnownExperiment, given: ExperimentStatement): void {
  const changes = statementChanges(stored.statement, given)
  if (changes.length === 0) return
  throw new SessionFault(
    'experiment_changed',
    `experiment ${stored.name} began with another statement: ${changes.join(', ')}; an experiment keeps its statement: restore the file, or give the new one another name`,
  )
}

async function areAllDone(store: Store, runs: readonly ExperimentRun[]): Promise<boolean> {
  const records = await Promise.all(runs.map(({ run }) => store.runs.get(run)))
  return records.every((record) => record?.status === 'done')
}

/**
 * Resumes a run that is in progress; a run that ended without being done is left to the experiment, which continues it when its
 * turn comes.
 * @throws SessionFault `refused` where the run still has an execution under another name of the home
 */
async function resumeUnlessEnded(parts: ExperimentParts, run: RunId): Promise<void> {
  const { store, describe, resume, log } = parts
  const record = await store.runs.get(run)
  if (record === undefined || record.status === 'done') return
  if ((await describe(run))?.status.name === 'RUNNING') return resume(run)
  await refuseFormerExecution(parts, record)
  log(
    `run ${run} ${record.status === 'running' ? 'has lost its workflow' : `had ${record.status}`}; it continues`,
  )
}
