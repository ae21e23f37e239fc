/**
 * A session of an environment in another process.
 *
 * Invariants
 * - The process is borrowed at the reset and given back at the close, or when it is lost.
 * - A crash, a missed deadline or an invalid answer is a `session_lost` fault; the next reset starts a new process.
 */
import { z } from 'zod'
import type { AssistantMessage, ToolSpec } from '../../messages/message.ts'
import {
  checkReward,
  type Environment,
  EnvironmentFault,
  type InstanceId,
  type Observation,
  type StepResult,
} from '../contract/environment.ts'
import type { LineProcess } from './line-process.ts'
import type { ProcessPool } from './process-pool.ts'
import { observationSchema, stepSchema, wireAction } from './protocol.ts'

/** How long a process may take, in milliseconds. */
export interface Deadlines {
  readonly resetMs: number
  readonly stepMs: number
  readonly closeMs: number
}

export const defaultDeadlines: Deadlines = { resetMs: 60_000, stepMs: 60_000, closeMs: 5000 }

/** A session over processes of a pool. */
export function createForeignSession(
  pool: ProcessPool,
  deadlines: Deadlines = defaultDeadlines,
): Environment {
  return new ForeignSession(pool, deadlines)
}

class ForeignSession implements Environment {
  readonly #pool: ProcessPool
  readonly #deadlines: Deadlines
  #process: LineProcess | undefined
  #playing = false
  #tools: readonly ToolSpec[] = []

  constructor(pool: ProcessPool, deadlines: Deadlines) {
    this.#pool = pool
    this.#deadlines = deadlines
  }

  get tools(): readonly ToolSpec[] {
    return this.#tools
  }

  async reset(instance: InstanceId): Promise<Observation> {
    this.#playing = false
    const process = await this.#alive()
    const asked = { instance }
    const { messages, tools, info } = await this.#ask(() =>
      process.request('reset', asked, observationSchema, this.#deadlines.resetMs),
    )
    this.#tools = tools
    this.#playing = true
    return { messages, info }
  }

  async step(action: AssistantMessage): Promise<StepResult> {
    const process = this.#process
    if (process === undefined || !this.#playing)
      throw new EnvironmentFault('session_lost', 'nothing is being played here: reset the environment first')
    const asked = { action: wireAction(action) }
    const { result, tools } = await this.#ask(() =>
      process.request('step', asked, stepSchema, this.#deadlines.stepMs),
    )
    if (tools !== undefined) this.#tools = tools
    checkReward(process.name, result.reward)
    return result
  }

  async close(): Promise<void> {
    const process = this.#process
    this.#process = undefined
    this.#playing = false
    if (process === undefined) return
    if (process.alive)
      // A process that cannot close is lost, and the pool ends it.
      await process.request('close', {}, z.looseObject({}), this.#deadlines.closeMs).catch(() => undefined)
    await this.#pool.giveBack(process)
  }

  async #alive(): Promise<LineProcess> {
    if (this.#process?.alive === true) return this.#process
    await this.close()
    this.#process = await this.#pool.borrow()
    return this.#process
  }

  /** A process that was lost is given up at once, so that nothing of it stays. */
  async #ask<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (fault) {
      if (this.#process?.alive !== true) await this.close()
      throw fault
    }
  }
}
