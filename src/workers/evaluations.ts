/**
 * Evaluations from outside: by hand, by a schedule, and the promotion of what was found best.
 *
 * Invariants
 * - The same checkpoint, suite, instances and samples are measured once, whoever asks.
 * - A schedule has a name within its run; another of the same name is refused.
 * - Only a version whose checkpoint is whole is promoted.
 */
import {
  type Client,
  ScheduleAlreadyRunning,
  type ScheduleDescription,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
  WorkflowExecutionAlreadyStartedError,
} from '@temporalio/client'
import type { RunConfig } from '../config/schema.ts'
import {
  type HomeName,
  parseScheduleId,
  parseWorkflowId,
  type RunId,
  type ScheduleId,
  scheduledId,
  scheduleId,
  workflowIdOf,
} from '../identity.ts'
import { type Promotion, readPromotion, writePromotion } from '../policy/checkpoints/promotion.ts'
import { summaryOf } from '../storage/evaluations.ts'
import type { Home } from '../storage/home.ts'
import type { Store } from '../storage/store.ts'
import type { evaluation } from '../workflows/evaluation.ts'
import { evaluationPlan, evaluationStart } from '../workflows/evaluation-plan.ts'
import { type EvaluationSummary, searchAttributes } from '../workflows/messages.ts'
import type { scheduledEvaluation } from '../workflows/scheduled-evaluation.ts'
import { taskQueue } from '../workflows/task-queues.ts'
import { whoami } from './run-steering.ts'
import { SessionFault } from './session-fault.ts'
import { resultOf } from './workflow-result.ts'

export type { Promotion } from '../policy/checkpoints/promotion.ts'

export interface EvaluationOptions {
  readonly version?: number
  readonly suite?: string
  /** Instances; the suite's own number by default. */
  readonly episodes?: number
  /** Episodes of each instance; the suite's own number by default. */
  readonly samples?: number
}

/** When a schedule fires. */
export type Timing =
  /** Every so often, e.g. `30m`. */
  | { readonly every: string }
  /** At these times, UTC, e.g. `0 3 * * *` or `@daily`. */
  | { readonly cron: string }

export interface ScheduleWish extends Omit<EvaluationOptions, 'version'> {
  /** Tells it from other schedules of the run; the suite's name by default. */
  readonly name?: string
  readonly timing: Timing
}

/** A schedule as the server knows it. */
export interface EvaluationSchedule {
  readonly schedule: ScheduleId
  readonly run: RunId
  readonly name: string
  readonly paused: boolean
  /** Why it is paused, in words. */
  readonly note: string | undefined
  /** Milliseconds since the epoch, as is the next. */
  readonly next: number | undefined
  readonly last: number | undefined
}

export interface RunEvaluations {
  /** Evaluates one checkpoint; the latest by default. */
  evaluate(run: string, options: EvaluationOptions): Promise<EvaluationSummary>
  /** Evaluates the newest version again and again. @throws SessionFault `schedule_exists` */
  schedule(run: string, wish: ScheduleWish): Promise<ScheduleId>
  /** Schedules of one run, or of all runs of this home. */
  schedules(run?: string): Promise<readonly EvaluationSchedule[]>
  /** @throws SessionFault `unknown_schedule`, as do those below */
  pauseSchedule(run: string, name: string): Promise<void>
  continueSchedule(run: string, name: string): Promise<void>
  /** Fires at once, beside its times. */
  triggerSchedule(run: string, name: string): Promise<void>
  deleteSchedule(run: string, name: string): Promise<void>
  /** Marks the version that users take; by default the best one on a suite, the first one if none is named. */
  promote(run: string, wish?: { readonly version?: number; readonly suite?: string }): Promise<Promotion>
}

interface Dependencies {
  readonly client: Client
  /** Under which the server knows the home's work. */
  readonly homeName: HomeName
  readonly store: Store
  readonly home: Home
  /** @throws SessionFault `unknown_run` */
  readonly known: (run: string) => Promise<{ readonly id: RunId; readonly config: RunConfig }>
  /** @throws SessionFault `unknown_version` */
  readonly goodVersion: (run: RunId, version: number) => Promise<number>
  readonly by?: string | undefined
}

/** What a schedule missed for longer, while no server ran, is not made up for: the next time is near. */
const catchupWindow = '1 minute'

export function createRunEvaluations(dependencies: Dependencies): RunEvaluations {
  const { client, homeName, store, home, known, goodVersion, by = whoami() } = dependencies
  const orchestrator = taskQueue('orchestrator', homeName)
  const onServer = (id: string) => workflowIdOf(homeName, id)

  async function withSchedule(
    run: string,
    name: string,
    work: (handle: ReturnType<Client['schedule']['getHandle']>) => Promise<unknown>,
  ): Promise<void> {
    const { id } = await known(run)
    try {
      await work(client.schedule.getHandle(onServer(scheduleId(id, name))))
    } catch (error) {
      if (!(error instanceof ScheduleNotFoundError)) throw error
      throw new SessionFault(
        'unknown_schedule',
        `run ${run} has no schedule "${name}"; \`perdure schedule list\` shows those there are`,
        { cause: error },
      )
    }
  }

  return {
    async evaluate(run, wish) {
      const { id, config } = await known(run)
      const suite = suiteOf(id, config, wish.suite)
      const version = await goodVersion(id, wish.version ?? (await publishedVersion(store, id)))
      const plan = evaluationPlan(id, config, { ...wish, suite, version })
      const found = summaryOf(await store.evaluations.get(plan.evaluation))
      if (found !== undefined) return found
      // From now on the run keeps the version's checkpoint.
      const entry = { id: plan.evaluation, run: id, suite: plan.suite, version, seed: config.seed }
      await store.evaluations.insert({ ...entry, created: Date.now() })
      try {
        await client.workflow.start<typeof evaluation>('evaluation', {
          ...evaluationStart(plan, { namespace: client.options.namespace, home: homeName }),
          taskQueue: orchestrator,
        })
      } catch (error) {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error
      }
      const { workflow } = client
      const running = workflow.getHandle<typeof evaluation>(onServer(plan.evaluation))
      return resultOf(`evaluation ${plan.evaluation}`, running.result())
    },

    async schedule(run, { timing, name, suite: wanted, episodes, samples }) {
      const { id, config } = await known(run)
      const suite = suiteOf(id, config, wanted)
      const schedule = scheduleId(id, name ?? suite.name)
      const asked = {
        run: id,
        config,
        suite,
        ...(episodes === undefined ? {} : { episodes }),
        ...(samples === undefined ? {} : { samples }),
      }
      try {
        await client.schedule.create({
          scheduleId: onServer(schedule),
          spec:
            'every' in timing
              ? { intervals: [{ every: timing.every as '30m' }] }
              : { cronExpressions: [timing.cron] },
          action: {
            type: 'startWorkflow',
            workflowType: 'scheduledEvaluation' satisfies (typeof scheduledEvaluation)['name'],
            workflowId: onServer(scheduledId(schedule)),
            taskQueue: orchestrator,
            args: [asked],
            staticSummary: `${suite.name} · the newest version`,
            typedSearchAttributes: [
              { key: searchAttributes.run, value: onServer(id) },
              { key: searchAttributes.suite, value: suite.name },
            ],
          },
          policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow },
          typedSearchAttributes: [{ key: searchAttributes.run, value: onServer(id) }],
        })
      } catch (error) {
        if (!(error instanceof ScheduleAlreadyRunning)) throw error
        throw new SessionFault(
          'schedule_exists',
          `run ${run} has a schedule "${name ?? suite.name}"; delete it first, or give this one another name`,
          { cause: error },
        )
      }
      return schedule
    },

    async schedules(run) {
      const wanted = run === undefined ? undefined : (await known(run)).id
      const ours = new Set((await store.runs.list()).map(({ id }) => id))
      const found: EvaluationSchedule[] = []
      for await (const { scheduleId: listed } of client.schedule.list()) {
        const { home: owner, id: schedule } = parseWorkflowId(listed)
        const parsed = owner === homeName ? parseScheduleId(schedule) : undefined
        if (parsed === undefined || !ours.has(parsed.run) || (wanted ?? parsed.run) !== parsed.run) continue
        // The list lags behind what has been done; each by itself does not.
        const description = await describeUnlessGone(client, listed)
        if (description === undefined) continue
        const { state, info } = description
        found.push({
          schedule: schedule as ScheduleId,
          ...parsed,
          paused: state.paused,
          note: state.note,
          next: info.nextActionTimes[0]?.getTime(),
          last: info.recentActions.at(-1)?.takenAt.getTime(),
        })
      }
      return found.sort((a, b) => (a.schedule < b.schedule ? -1 : 1))
    },

    pauseSchedule: (run, name) => withSchedule(run, name, (handle) => handle.pause(`paused by ${by}`)),
    continueSchedule: (run, name) =>
      withSchedule(run, name, (handle) => handle.unpause(`continued by ${by}`)),
    triggerSchedule: (run, name) =>
      withSchedule(run, name, (handle) => handle.trigger(ScheduleOverlapPolicy.SKIP)),
    deleteSchedule: (run, name) => withSchedule(run, name, (handle) => handle.delete()),

    async promote(run, wish = {}) {
      const { id, config } = await known(run)
      const { checkpointsDir } = home.run(id)
      const { found: measured } = await store.evaluations.findings(id)
      const suite = suiteOf(id, config, wish.suite).name
      const best = bestVersion(measured.filter((summary) => summary.suite === suite))
      const version = wish.version ?? best?.version
      if (version === undefined)
        throw new SessionFault(
          'unknown_version',
          `run ${run} has no evaluation over ${suite}; name a version`,
        )
      if ((await goodVersion(id, version)) !== version)
        throw new SessionFault(
          'unknown_version',
          `the checkpoint of version ${version} of run ${run} is broken; promote another`,
        )
      const evidence = measured.find((summary) => summary.suite === suite && summary.version === version)
      const time = Date.now()
      const before = await readPromotion(checkpointsDir)
      const promotion: Promotion = {
        version,
        time: new Date(time).toISOString(),
        by,
        ...(evidence === undefined
          ? {}
          : { evaluation: { suite, success: evidence.success, n: evidence.n } }),
      }
      await writePromotion(checkpointsDir, promotion)
      const current = (await store.runs.version(id)) ?? version
      await store.audit.append(id, {
        time,
        by,
        what: 'promote',
        from: before?.version ?? null,
        to: version,
        version: current,
        effectVersion: current,
        reason: null,
      })
      return promotion
    },
  }
}

/** A schedule that was deleted a moment ago may still be listed. */
async function describeUnlessGone(client: Client, listed: string): Promise<ScheduleDescription | undefined> {
  try {
    return await client.schedule.getHandle(listed).describe()
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return undefined
    throw error
  }
}

/** The version of the highest success; of equals the newest. */
function bestVersion(summaries: readonly EvaluationSummary[]): EvaluationSummary | undefined {
  return summaries.toSorted((a, b) => a.success - b.success || a.version - b.version).at(-1)
}

/** The suite of a name, the first one by default. @throws SessionFault `unknown_suite` */
function suiteOf(run: RunId, { evaluation: { suites } }: RunConfig, name: string | undefined) {
  const suite = name === undefined ? suites[0] : suites.find((candidate) => candidate.name === name)
  if (suite !== undefined) return suite
  const names = suites.map((candidate) => candidate.name).join(', ')
  throw new SessionFault(
    'unknown_suite',
    `run ${run} has no suite "${name ?? ''}"; configured: ${names || 'none'}`,
  )
}

/** @throws SessionFault `unknown_version` */
async function publishedVersion(store: Store, run: RunId): Promise<number> {
  const version = await store.runs.version(run)
  if (version !== undefined) return version
  throw new SessionFault('unknown_version', `run ${run} has not published a version yet; evaluate it later`)
}
