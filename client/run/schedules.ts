/**
 * Schedules of evaluations: the newest version of a run, measured again and again.
 *
 * Invariants
 * - A schedule has a name within its run; another of the same name is refused.
 * - A cron expression has five fields, and a schedule fires at some time: anything else is refused.
 */
import {
  type Client,
  ScheduleAlreadyRunning,
  type ScheduleDescription,
  type ScheduleHandle,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
} from '@temporalio/client'
import { searchAttributes } from '../../contract/messages.ts'
import { taskQueue } from '../../contract/task-queues.ts'
import {
  parseScheduleId,
  parseWorkflowId,
  type RunId,
  type ScheduleId,
  scheduledId,
  scheduleId,
  workflowIdOf,
} from '../../identity/identity.ts'
import type { scheduledEvaluation } from '../../workflows/play/scheduled-evaluation.ts'
import type { EvaluationOptions } from './evaluations.ts'
import { suiteOf } from './good-version.ts'
import type { SessionParts } from './run-calls.ts'
import { SessionFault } from './session-fault.ts'

/** When a schedule fires. */
export type Timing =
  /** Every so often, e.g. `30m`. */
  | { readonly every: string }
  /** At these times, UTC, e.g. `0 3 * * *` or `@daily`. */
  | { readonly cron: string }

export interface ScheduleWish extends Omit<EvaluationOptions, 'version'> {
  /** Tells it from other schedules of the run; the suite's name by default. */
  readonly name?: string | undefined
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
  /** Milliseconds since the epoch: when it fires next, three times at most. */
  readonly next: readonly number[]
  /** Milliseconds since the epoch. */
  readonly last: number | undefined
}

export interface RunSchedules {
  /** Evaluates the newest version again and again. @throws SessionFault `schedule_exists`, `bad_timing` */
  schedule(run: string, wish: ScheduleWish): Promise<EvaluationSchedule>
  /** Schedules of one run, or of all runs of this home. */
  schedules(run?: string): Promise<readonly EvaluationSchedule[]>
  /** @throws SessionFault `unknown_schedule`, as do those below */
  pauseSchedule(run: string, name: string): Promise<void>
  continueSchedule(run: string, name: string): Promise<void>
  /** Fires at once, beside its times. */
  triggerSchedule(run: string, name: string): Promise<void>
  deleteSchedule(run: string, name: string): Promise<void>
}

/** An action missed for longer while no server ran is skipped: the next one is near. */
const catchupWindow = '1 minute'

export function createRunSchedules(parts: SessionParts): RunSchedules {
  const { by } = parts
  const change = (run: string, name: string, work: (handle: ScheduleHandle) => Promise<unknown>) =>
    changeSchedule(parts, run, name, work)
  return {
    schedule: (run, wish) => createSchedule(parts, run, wish),
    schedules: (run) => listSchedules(parts, run),
    pauseSchedule: (run, name) => change(run, name, (handle) => handle.pause(`paused by ${by}`)),
    continueSchedule: (run, name) => change(run, name, (handle) => handle.unpause(`continued by ${by}`)),
    triggerSchedule: (run, name) => change(run, name, (handle) => handle.trigger(ScheduleOverlapPolicy.SKIP)),
    deleteSchedule: (run, name) => change(run, name, (handle) => handle.delete()),
  }
}

async function createSchedule(
  { client, homeName, known }: SessionParts,
  run: string,
  { timing, name, suite: wanted, episodes, samples }: ScheduleWish,
): Promise<EvaluationSchedule> {
  const given = 'cron' in timing ? timing.cron : timing.every
  if ('cron' in timing) refuseUnclear(timing.cron)
  const onServer = (id: string) => workflowIdOf(homeName, id)
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
  let handle: ScheduleHandle
  try {
    handle = await client.schedule.create({
      scheduleId: onServer(schedule),
      spec:
        'every' in timing
          ? { intervals: [{ every: timing.every as '30m' }] }
          : { cronExpressions: [timing.cron] },
      action: {
        type: 'startWorkflow',
        workflowType: 'scheduledEvaluation' satisfies (typeof scheduledEvaluation)['name'],
        workflowId: onServer(scheduledId(schedule)),
        taskQueue: taskQueue('orchestrator', homeName),
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
    // The client reports what the server refuses as an invalid argument in this way: a field out of range, an unknown zone.
    if (error instanceof TypeError)
      throw new SessionFault('bad_timing', `"${given}" is no time to fire at: ${error.message}`, {
        cause: error,
      })
    if (!(error instanceof ScheduleAlreadyRunning)) throw error
    throw new SessionFault(
      'schedule_exists',
      `run ${run} has a schedule "${name ?? suite.name}"; delete it first, or give this one another name`,
      { cause: error },
    )
  }
  const created = shown(await handle.describe(), schedule, { run: id, name: name ?? suite.name })
  if (created.next.length > 0) return created
  await handle.delete()
  throw new SessionFault('bad_timing', `"${given}" never fires: no date fits all of its fields`)
}

/**
 * The server reads a sixth field as the year, where Quartz, Spring and node-cron begin with the seconds.
 * @throws SessionFault `bad_timing`
 */
function refuseUnclear(cron: string): void {
  const [, expression = ''] = /^\s*(?:(?:CRON_TZ|TZ)=\S+\s+)?([^#]*)/.exec(cron) ?? []
  const fields = expression.trim().split(/\s+/)
  if (fields.length === 5 || expression.trim().startsWith('@')) return
  const [first = '', ...others] = fields
  const hint =
    fields.length === 6 && /^(0|\*)$/.test(first) ? `; without seconds it is "${others.join(' ')}"` : ''
  throw new SessionFault(
    'bad_timing',
    `"${cron}" has ${fields.length} fields: give minute, hour, day of the month, month and day of the week, e.g. "0 3 * * *"${hint}`,
  )
}

const shownTimes = 3

function shown(
  { state, info }: ScheduleDescription,
  schedule: ScheduleId,
  of: Pick<EvaluationSchedule, 'run' | 'name'>,
): EvaluationSchedule {
  return {
    schedule,
    ...of,
    paused: state.paused,
    note: state.note,
    next: info.nextActionTimes.slice(0, shownTimes).map((time) => time.getTime()),
    last: info.recentActions.at(-1)?.takenAt.getTime(),
  }
}

async function listSchedules(
  { client, homeName, store, known }: SessionParts,
  run?: string,
): Promise<readonly EvaluationSchedule[]> {
  const wanted = run === undefined ? undefined : (await known(run)).id
  const ours = new Set((await store.runs.list()).map(({ id }) => id))
  const found: EvaluationSchedule[] = []
  for await (const { scheduleId: listed } of client.schedule.list()) {
    const { home: owner, id: schedule } = parseWorkflowId(listed)
    const parsed = owner === homeName ? parseScheduleId(schedule) : undefined
    if (parsed === undefined || !ours.has(parsed.run) || (wanted ?? parsed.run) !== parsed.run) continue
    // The list lags behind changes; a description does not.
    const description = await describeUnlessGone(client, listed)
    if (description === undefined) continue
    found.push(shown(description, schedule as ScheduleId, parsed))
  }
  return found.sort((a, b) => (a.schedule < b.schedule ? -1 : 1))
}

/** @throws SessionFault `unknown_schedule` */
async function changeSchedule(
  { client, homeName, known }: SessionParts,
  run: string,
  name: string,
  work: (handle: ScheduleHandle) => Promise<unknown>,
): Promise<void> {
  const { id } = await known(run)
  try {
    await work(client.schedule.getHandle(workflowIdOf(homeName, scheduleId(id, name))))
  } catch (error) {
    if (!(error instanceof ScheduleNotFoundError)) throw error
    throw new SessionFault(
      'unknown_schedule',
      `run ${run} has no schedule "${name}"; \`perdure schedule list\` shows those there are`,
      { cause: error },
    )
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
