/**
 * The standstill of a container: its processes are frozen while it is looked at.
 *
 * Invariants
 * - One looks at a time; the next waits until the container is resumed.
 * - A freeze that does not come about at once is tried again: on a busy machine the processes have to be given a
 *   core before they can stop, and the engine waits for them only briefly.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type Docker from 'dockerode'
import { reasonOf } from '../../../faults/reason.ts'
import { EngineLate, engineFault, isGone, statusOf } from '../engine.ts'

const retryMs = 100

export class Standstill {
  readonly #docker: Docker.Container
  #held: PromiseWithResolvers<void> | undefined

  constructor(docker: Docker.Container) {
    this.#docker = docker
  }

  /** Whether it is stopped, or about to be. */
  get isHeld(): boolean {
    return this.#held !== undefined
  }

  /**
   * Stops the container.
   * @param withinMs after which one that does not stop is given up
   * @returns what resumes it, and may be called twice; undefined for one that cannot be stopped
   * @throws ContainerFault
   */
  async hold(withinMs: number): Promise<(() => Promise<void>) | undefined> {
    while (this.#held !== undefined) await this.#held.promise
    const mine = Promise.withResolvers<void>()
    this.#held = mine
    const resume = async () => {
      if (this.#held !== mine) return
      try {
        await this.#resume()
      } finally {
        this.abandon()
      }
    }
    try {
      if (await this.#pause(withinMs)) return resume
    } catch (error) {
      await resume()
      throw error
    }
    await resume()
    return undefined
  }

  /** Forgets a container that goes: what waits for it continues. */
  abandon(): void {
    this.#held?.resolve()
    this.#held = undefined
  }

  async #pause(withinMs: number): Promise<boolean> {
    const until = Date.now() + withinMs
    for (;;) {
      try {
        await this.#docker.pause()
        return true
      } catch (error) {
        if (error instanceof EngineLate) return false
        if (!/freez/i.test(reasonOf(error))) throw engineFault(error, `pausing container ${this.#docker.id}`)
        if (Date.now() > until) return false
        await delay(retryMs)
      }
    }
  }

  /** Continues the container; if it is gone, its next command notices. */
  async #resume(): Promise<void> {
    try {
      await this.#docker.unpause()
    } catch (error) {
      if (!isGone(error) && statusOf(error) !== 500)
        throw engineFault(error, `resuming container ${this.#docker.id}`)
    }
  }
}
