/**
 * Observation: what the workers of a process did, reported to metrics and traces.
 *
 * Invariants
 * - Activities and workflows are observed from outside, by interceptors and a sink: their code knows nothing of it.
 * - An observer that throws harms no work; it is reported once.
 * - Without observers, activities are called as they are, and workflows have no interceptor at all.
 */
import { type Info as ActivityInfo, Context } from '@temporalio/activity'
import type {
  ActivityInboundCallsInterceptor,
  ActivityInterceptorsFactory,
  InjectedSinks,
} from '@temporalio/worker'
import { parseWorkflowId } from '../identity/identity.ts'
import type { EndingSinks } from '../workflows/endings.ts'
import { type Work, workOfActivity, workOfWorkflow } from './work.ts'

/** Something that was done, well or not. */
export interface FinishedWork {
  readonly kind: 'activity' | 'workflow'
  /** Type of the activity or workflow. */
  readonly name: string
  /** Without the home. */
  readonly workflowId: string
  readonly work: Work
  /** Its argument. */
  readonly argument: unknown
  /** Absent where it failed. */
  readonly result?: unknown
  readonly failure?: { readonly name: string; readonly message: string }
  /** From 1. */
  readonly attempt: number
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  readonly endedAt: number
}

export type Observer = (finished: FinishedWork) => void

export interface Observation {
  /** Wraps the calls that a block of turns consists of: each is observed as an activity of its own. */
  readonly part: <Argument, Result>(
    name: string,
    argument: Argument,
    call: (argument: Argument) => Promise<Result>,
  ) => Promise<Result>
  readonly activity: ActivityInterceptorsFactory
  /** Undefined without observers. */
  readonly sinks: InjectedSinks<EndingSinks> | undefined
}

/** Puts observers around the work of a process; log lines of activities get their turn in any case. */
export function observe(observers: readonly Observer[], onFault: (error: unknown) => void): Observation {
  let isTold = false
  function tell(finished: FinishedWork): void {
    for (const observer of observers) {
      try {
        observer(finished)
      } catch (error) {
        if (!isTold) onFault(error)
        isTold = true
      }
    }
  }
  if (observers.length === 0)
    return { activity: named, part: (_, argument, call) => call(argument), sinks: undefined }
  return {
    activity: (context) => ({ ...named(context), inbound: { execute: observed(context.info, tell) } }),
    part: (name, argument, call) =>
      observedCall(tell, { ...Context.current().info, activityType: name }, argument, () => call(argument)),
    sinks: {
      endings: {
        ended: {
          fn(info, { plan, ...ending }) {
            tell({
              kind: 'workflow',
              name: info.workflowType,
              workflowId: parseWorkflowId(info.workflowId).id,
              work: workOfWorkflow(info.workflowId),
              argument: plan,
              ...ending,
              attempt: 1,
              startedAt: info.startTime.getTime(),
              endedAt: Date.now(),
            })
          },
        },
      },
    },
  }
}

/** The arguments of activities in progress. */
const given = new WeakMap<Context, unknown>()

/** Log lines of an activity say what it is about. */
const named: ActivityInterceptorsFactory = (context) => ({
  inbound: {
    execute(input, next) {
      given.set(context, input.args[0])
      return next(input)
    },
  },
  outbound: {
    getLogAttributes: (input, next) =>
      next({ ...input, ...workOfActivity(workflowIdOf(context.info), given.get(context)) }),
  },
})

function observed(
  info: ActivityInfo,
  tell: Observer,
): NonNullable<ActivityInboundCallsInterceptor['execute']> {
  return async (input, next) => {
    const [argument] = input.args
    given.set(Context.current(), argument)
    return info.activityType === block ? next(input) : observedCall(tell, info, argument, () => next(input))
  }
}

/** The activity that is observed by its parts: a block of turns. */
const block = 'playTurns'

async function observedCall<Result>(
  tell: Observer,
  info: Pick<ActivityInfo, 'activityType' | 'attempt' | 'workflowExecution'>,
  argument: unknown,
  call: () => Promise<Result>,
): Promise<Result> {
  const workflowId = workflowIdOf(info)
  const common = {
    kind: 'activity',
    name: info.activityType,
    workflowId,
    work: workOfActivity(workflowId, argument),
    argument,
    attempt: info.attempt,
    startedAt: Date.now(),
  } as const
  try {
    const result = await call()
    tell({ ...common, result, endedAt: Date.now() })
    return result
  } catch (error) {
    const { name, message } = error instanceof Error ? error : new Error(String(error))
    tell({ ...common, failure: { name, message }, endedAt: Date.now() })
    throw error
  }
}

function workflowIdOf(info: Pick<ActivityInfo, 'workflowExecution'>): string {
  return parseWorkflowId(info.workflowExecution?.workflowId ?? '').id
}

/** A field of an argument or a result, which may be anything. */
export function fieldOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
  return (value as Readonly<Record<string, unknown>>)[name]
}
