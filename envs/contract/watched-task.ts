/**
 * A task whose every call is watched: one rule for the time that an environment may take, and one for what its failures say.
 *
 * Invariants
 * - [WATCHED-1] Each call ends: with its answer, with what it threw, or when its time is up.
 * - [WATCHED-2] A failure is an EnvironmentFault that names task, call and instance. Any other error becomes one of kind `failed`.
 * - [WATCHED-3] A call that takes unusually long is reported while it lasts, and a session that cannot be closed is reported, not thrown:
 *   its episode is over.
 * - [WATCHED-4] The time in which a session waits for a model that it asks is not its own: its limit begins again with the answer.
 */
import { reasonOf } from '../../faults/reason.ts'
import type { DeclaredMetrics } from '../../learning/evaluation/measure.ts'
import {
  type Adviser,
  type Environment,
  type EnvironmentDefinition,
  EnvironmentFault,
  type InstanceId,
  metricsAfter,
  type Observation,
  type Task,
  type TaskOptions,
} from './environment.ts'
import { type Ask, askedRoles, unasked } from './question.ts'

/** Reports on calls, one sentence each. */
export interface CallReports {
  /** A call has not answered for a while. @returns what is called once it has ended */
  readonly slow?: ((sentence: string) => (() => void) | undefined) | undefined
  /** A session or a task could not be closed. */
  readonly unclosed?: ((sentence: string) => void) | undefined
}

/** Reports that only say it. */
export function saidBy(say: ((sentence: string) => void) | undefined): CallReports {
  return {
    slow(sentence) {
      say?.(sentence)
      return undefined
    },
    unclosed: say,
  }
}

/** Reading the data of the largest task takes a minute or two. */
const openSeconds = 600
/** Setting up may build a container's image, or download what a task needs. */
const prepareSeconds = 3600
/** Longer than any step of a healthy environment. */
const defaultStepSeconds = 120
const closeSeconds = 60
/** A person wonders after a few seconds; calls that may take minutes are often slow. */
const reportSeconds = { usual: 5, slow: 10 }
/** Between two reports of a task: its sessions often hang together. */
const betweenReportsMs = 10_000

/** Opens a task whose calls are watched. @throws EnvironmentFault */
export async function openWatched(
  definition: EnvironmentDefinition,
  options: TaskOptions,
  reports: CallReports = {},
): Promise<Task> {
  const { name, stepTimeoutSeconds = defaultStepSeconds } = definition
  const calls = new WatchedCalls(name, reports)
  const task = await calls.within(openSeconds, 'open', undefined, async () => definition.open(options))
  return watchedTask(task, calls, stepTimeoutSeconds, definition.metrics)
}

function watchedTask(
  task: Task,
  calls: WatchedCalls,
  stepSeconds: number,
  metrics: DeclaredMetrics | undefined,
): Task {
  const { prepare, demonstrate, advise, serve } = task
  const splits = calls.atOnce('splits', undefined, () => task.splits)
  return {
    splits,
    ...(task.warnings === undefined ? {} : { warnings: task.warnings }),
    ...(task.doNothing === undefined ? {} : { doNothing: task.doNothing }),
    ...(prepare && {
      prepare: () => calls.within(prepareSeconds, 'prepare', undefined, async () => task.prepare?.()),
    }),
    instanceAt: (split, index) =>
      calls.atOnce('instanceAt', `${split} ${index}`, () => task.instanceAt(split, index)),
    create: async (ask = unasked) => {
      const waits = new ModelWaits()
      const session = await calls.within(stepSeconds, 'create', undefined, async () =>
        task.create(waits.counting(ask)),
      )
      return new WatchedSession(session, calls, { stepSeconds, metrics, waits })
    },
    ...(demonstrate && {
      demonstrate: (instance, take) =>
        calls.within(stepSeconds, 'demonstrate', instance, async () => task.demonstrate?.(instance, take)),
    }),
    ...(advise && { advise: (instance) => watchedAdviser(task, instance, calls, stepSeconds) }),
    ...(serve && { serve: (instances, port) => serve.call(task, instances, port) }),
    close: () => calls.closing('the task', undefined, async () => task.close()),
  }
}

function watchedAdviser(task: Task, instance: InstanceId, calls: WatchedCalls, stepSeconds: number): Adviser {
  const adviser = calls.atOnce('advise', instance, () => task.advise?.(instance))
  return {
    see: (observation, action) =>
      calls.within(stepSeconds, 'see', instance, async () => adviser?.see(observation, action)),
    advise: () => calls.within(stepSeconds, 'advise', instance, async () => adviser?.advise()),
  }
}

class WatchedSession implements Environment {
  readonly #session: Environment
  readonly #calls: WatchedCalls
  readonly #stepSeconds: number
  readonly #metrics: DeclaredMetrics | undefined
  readonly #waits: ModelWaits
  #instance: InstanceId | undefined
  #found: Observation['metrics']

  constructor(
    session: Environment,
    calls: WatchedCalls,
    rules: {
      readonly stepSeconds: number
      readonly metrics: DeclaredMetrics | undefined
      readonly waits: ModelWaits
    },
  ) {
    this.#session = session
    this.#calls = calls
    this.#stepSeconds = rules.stepSeconds
    this.#metrics = rules.metrics
    this.#waits = rules.waits
  }

  get tools() {
    return this.#calls.atOnce('tools', this.#instance, () => this.#session.tools)
  }

  reset(instance: InstanceId) {
    this.#instance = instance
    this.#found = undefined
    return this.#within('reset', async () => this.#measured(await this.#session.reset(instance)))
  }

  step(action: Parameters<Environment['step']>[0]) {
    return this.#within('step', async () => this.#measured(await this.#session.step(action)))
  }

  #within<T>(call: string, work: () => Promise<T>): Promise<T> {
    return this.#calls.within(this.#stepSeconds, call, this.#instance, work, this.#waits)
  }

  #measured<Seen extends Observation>(seen: Seen): Seen {
    if (this.#metrics === undefined) return seen
    this.#found = metricsAfter(this.#metrics, seen, this.#found)
    return { ...seen, metrics: this.#found }
  }

  close() {
    return this.#calls.closing('the session', this.#instance, async () => this.#session.close())
  }
}

/** The waits of a session for the models that it asks. */
class ModelWaits {
  #open = 0
  #call: { readonly begun: () => void; readonly over: () => void } | undefined

  /** @param call hears of the waits of the call in progress; undefined: there is none */
  during(call: { readonly begun: () => void; readonly over: () => void } | undefined): void {
    this.#call = call
  }

  /** The same models, whose answers count as waits. */
  counting(ask: Ask): Ask {
    const counted = askedRoles.map((role) => [
      role,
      async (question: never) => {
        if (this.#open++ === 0) this.#call?.begun()
        try {
          return await ask[role](question)
        } finally {
          if (--this.#open === 0) this.#call?.over()
        }
      },
    ])
    return Object.fromEntries(counted) as Ask
  }
}

/** The calls of one task. */
class WatchedCalls {
  readonly #task: string
  readonly #reports: CallReports
  #lastReport = Number.NEGATIVE_INFINITY

  constructor(task: string, reports: CallReports) {
    this.#task = task
    this.#reports = reports
  }

  /** @throws EnvironmentFault */
  atOnce<T>(call: string, instance: string | undefined, work: () => T): T {
    try {
      return work()
    } catch (cause) {
      throw this.#faultOf(call, instance, cause)
    }
  }

  /** Waits for a call as long as it may take. @throws EnvironmentFault */
  async within<T>(
    seconds: number,
    call: string,
    instance: string | undefined,
    work: () => Promise<T>,
    waits?: ModelWaits,
  ): Promise<T> {
    const { promise: givenUp, reject } = Promise.withResolvers<never>()
    const words = this.#words(call, instance)
    const reportAfter = seconds > defaultStepSeconds ? reportSeconds.slow : reportSeconds.usual
    let ended: (() => void) | undefined
    let timers: readonly NodeJS.Timeout[] = []
    const stop = () => {
      for (const timer of timers) clearTimeout(timer)
    }
    const start = () => {
      const tooLate = new EnvironmentFault('no_answer', `${words} did not answer within ${seconds} s`)
      timers = [
        setTimeout(() => reject(tooLate), seconds * 1000),
        setTimeout(() => {
          ended ??= this.#reportSlow(words, reportAfter, seconds)
        }, reportAfter * 1000),
      ]
    }
    start()
    waits?.during({ begun: stop, over: start })
    try {
      return await Promise.race([work(), givenUp])
    } catch (cause) {
      throw this.#faultOf(call, instance, cause)
    } finally {
      waits?.during(undefined)
      stop()
      ended?.()
    }
  }

  /** Closes something, and reports what kept it from closing. */
  async closing(what: string, instance: string | undefined, work: () => Promise<void>): Promise<void> {
    try {
      await this.within(closeSeconds, `closing ${what}`, instance, work)
    } catch (fault) {
      this.#reports.unclosed?.(reasonOf(fault))
    }
  }

  #words(call: string, instance: string | undefined): string {
    return `${call} of ${this.#task}${instance === undefined ? '' : ` on ${instance}`}`
  }

  #faultOf(call: string, instance: string | undefined, cause: unknown): EnvironmentFault {
    if (!(cause instanceof EnvironmentFault))
      return new EnvironmentFault('failed', `${this.#words(call, instance)} failed: ${reasonOf(cause)}`, {
        cause,
      })
    // Opening says which file or setting is wrong; no instance is played yet.
    if (cause.kind === 'no_answer' || instance === undefined) return cause
    return new EnvironmentFault(cause.kind, `${this.#words(call, instance)} failed: ${cause.message}`, {
      cause,
    })
  }

  #reportSlow(words: string, after: number, limit: number): (() => void) | undefined {
    const now = performance.now()
    if (now - this.#lastReport < betweenReportsMs) return undefined
    this.#lastReport = now
    return this.#reports.slow?.(`${words} has not answered for ${after} s; it is given up after ${limit} s`)
  }
}
