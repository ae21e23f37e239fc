/**
 * A controller of AgentRL: it hands out sessions of the tasks of this process, and of workers that report to it.
 *
 * Invariants
 * - [CONTROLLER-1] A request for a session waits while all places are taken, and is never refused for that.
 * - [CONTROLLER-2] A worker counts as dead after 11 s without a heartbeat; its sessions end without a reward.
 * - [CONTROLLER-3] A session that no one has asked for half an hour is closed.
 */
import type { Task } from '../../envs/contract/environment.ts'
import { chance } from '../../machine/services/chance.ts'
import { clock, type Timer } from '../../machine/services/clock.ts'
import {
  type ControllerAnswer,
  ControllerFault,
  type ControllerSession,
  OwnSession,
  taskError,
} from './controller-session.ts'
import { beginAtWorker, type Heartbeat } from './worker-session.ts'

/** A task of this process. */
export interface OwnTask {
  readonly name: string
  readonly task: Task
  readonly split: string
  /** Indices that are offered, from 0. */
  readonly size: number
  /** Turns after which a session is over. */
  readonly turnLimit: number
  /** Whether it has completed then. */
  readonly turnLimitCompletes?: boolean | undefined
}

/** Tasks and places. */
export interface ControllerOptions {
  readonly tasks: readonly OwnTask[]
  /** Sessions of a task of this process at once. */
  readonly places: number
}

/** A session that has begun. */
export interface Begun {
  readonly id: number
  readonly answer: ControllerAnswer
}

const workerLivesMs = 11_000
const idleMs = 30 * 60_000
const lookEveryMs = 30_000
const waitMs = 100
/** Below what a JavaScript number holds exactly. */
const idEnd = 2 ** 47
const mostWorkers = 1000

interface Worker extends Heartbeat {
  readonly heardAt: number
}

interface Held {
  readonly session: ControllerSession
  /** Whose place it takes: a task of this process, or a worker. */
  readonly place: string
  busy: boolean
  askedAt: number
}

/** A controller. */
export class Controller {
  readonly #options: ControllerOptions
  readonly #workers = new Map<string, Worker>()
  readonly #sessions = new Map<number, Held>()
  /** Places that are taken, by task or worker. */
  readonly #taken = new Map<string, number>()
  readonly #timer: Timer

  constructor(options: ControllerOptions) {
    this.#options = options
    this.#timer = clock.every(lookEveryMs, () => this.#closeIdle()).unref()
  }

  /** Takes in what a worker says of itself. @throws ControllerFault too many */
  hear(heartbeat: Heartbeat): void {
    const key = keyOf(heartbeat)
    if (!this.#workers.has(key) && this.#workers.size >= mostWorkers)
      throw new ControllerFault(400, `there are ${mostWorkers} workers already`)
    this.#workers.set(key, { ...heartbeat, heardAt: clock.monotonic() })
  }

  /** @throws ControllerFault an unknown task */
  indices(name: string): readonly (number | string)[] {
    const own = this.#options.tasks.find((task) => task.name === name)
    if (own !== undefined) return Array.from({ length: own.size }, (_, index) => index)
    const [worker] = this.#alive(name)
    if (worker !== undefined) return worker.indices
    const names = Object.keys(this.workers()).join(', ')
    throw new ControllerFault(
      404,
      `there is no task "${name.slice(0, 80)}": use ${names || 'one for which a worker runs'}`,
    )
  }

  /** Who plays which task, with its places. */
  workers(): Readonly<
    Record<string, { readonly indices: readonly (number | string)[]; readonly workers: object }>
  > {
    const { tasks, places } = this.#options
    const own = tasks.map(
      ({ name }) =>
        [name, { [name]: { address: null, concurrency: places, current: this.#takenOf(name) } }] as const,
    )
    const names = new Set([...this.#workers.values()].map(({ name }) => name))
    const others = [...names]
      .map((name) => [name, this.#alive(name)] as const)
      .filter(([name, alive]) => alive.length > 0 && !tasks.some((task) => task.name === name))
      .map(
        ([name, alive]) =>
          [
            name,
            Object.fromEntries(
              alive.map((worker) => [
                worker.address,
                {
                  address: worker.address,
                  concurrency: worker.concurrency,
                  current: this.#takenOf(keyOf(worker)),
                },
              ]),
            ),
          ] as const,
      )
    return Object.fromEntries(
      [...own, ...others].map(([name, workers]) => [name, { indices: this.indices(name), workers }]),
    )
  }

  /** Sessions by id. */
  sessions(): Readonly<Record<string, object>> {
    return Object.fromEntries(
      [...this.#sessions].map(([id, { session }]) => [id, { name: session.task, index: session.index }]),
    )
  }

  /** Begins a session, when there is a place. @param signal aborts when no one waits any more @throws ControllerFault */
  async start(name: string, index: number | string, signal: AbortSignal): Promise<Begun> {
    for (;;) {
      this.indices(name)
      const place = this.#free(name)
      if (place !== undefined) return await this.#begin(place, name, index)
      await clock.sleep(waitMs / 2 + chance.below(waitMs), { signal })
    }
  }

  /** @throws ControllerFault */
  async interact(id: number, messages: readonly unknown[]): Promise<ControllerAnswer> {
    const held = this.#sessions.get(id)
    if (held === undefined) throw new ControllerFault(400, 'No such session')
    if (held.busy) throw new ControllerFault(400, 'Task Executing, please do not send new request.')
    held.busy = true
    try {
      const answer = await held.session.interact(messages)
      if (answer.finish) await this.cancel(id)
      return answer
    } finally {
      held.busy = false
      held.askedAt = clock.monotonic()
    }
  }

  /** Ends a session. @returns false where there is none */
  async cancel(id: number): Promise<boolean> {
    const held = this.#sessions.get(id)
    if (held === undefined) return false
    this.#sessions.delete(id)
    try {
      await held.session.close()
    } finally {
      this.#taken.set(held.place, this.#takenOf(held.place) - 1)
    }
    return true
  }

  async close(): Promise<void> {
    this.#timer.cancel()
    await Promise.all([...this.#sessions.keys()].map((id) => this.cancel(id)))
  }

  #takenOf(place: string): number {
    return this.#taken.get(place) ?? 0
  }

  #alive(name: string): readonly Worker[] {
    const since = clock.monotonic() - workerLivesMs
    return [...this.#workers.values()].filter((worker) => worker.name === name && worker.heardAt >= since)
  }

  /** A place that is free: of this process, or of the worker that has most. */
  #free(name: string): OwnTask | Worker | undefined {
    const own = this.#options.tasks.find((task) => task.name === name)
    if (own !== undefined) return this.#takenOf(name) < this.#options.places ? own : undefined
    const left = (worker: Worker) => worker.concurrency - this.#takenOf(keyOf(worker))
    return this.#alive(name)
      .filter((worker) => left(worker) > 0)
      .toSorted((one, other) => left(other) - left(one))[0]
  }

  async #begin(at: OwnTask | Worker, name: string, index: number | string): Promise<Begun> {
    const place = 'task' in at ? name : keyOf(at)
    const id = chance.below(idEnd)
    this.#taken.set(place, this.#takenOf(place) + 1)
    try {
      const { session, answer } =
        'task' in at ? await this.#own(at, index) : await beginAtWorker(at, index, id)
      this.#sessions.set(id, { session, place, busy: false, askedAt: clock.monotonic() })
      if (answer.finish) await this.cancel(id)
      return { id, answer }
    } catch (fault) {
      this.#taken.set(place, this.#takenOf(place) - 1)
      throw fault
    }
  }

  async #own(own: OwnTask, index: number | string) {
    const { name, task, split, size } = own
    // As workers answer it: the request was understood, and there is nothing to play.
    if (!(typeof index === 'number' && Number.isInteger(index) && index >= 0 && index < size))
      return { session: nothing(name, index), answer: taskError }
    const environment = await task.create()
    const instance = task.instanceAt(split, index)
    return await OwnSession.begin(own, index, { environment, instance })
  }

  #closeIdle(): void {
    const since = clock.monotonic() - idleMs
    for (const [id, { busy, askedAt }] of this.#sessions) if (!busy && askedAt < since) void this.cancel(id)
    for (const [key, { heardAt }] of this.#workers) if (heardAt < since) this.#workers.delete(key)
  }
}

function keyOf({ name, address }: Heartbeat): string {
  return `${name} ${address}`
}

function nothing(task: string, index: number | string): ControllerSession {
  return { task, index, interact: async () => taskError, close: async () => undefined }
}
