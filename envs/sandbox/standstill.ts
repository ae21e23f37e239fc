/**
 * The standstill of a container: its processes are frozen while it is looked at.
 *
 * Invariants
 * - One looks at a time; the next waits until the container goes on.
 * - A freeze that does not come about at once is tried again: on a busy machine the processes have to be given a
 *   core before they can stop, and the engine waits for them only briefly.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type Docker from 'dockerode'
import { reasonOf } from '../../reason.ts'
import { EngineLate, engineFault, isGone, statusOf } from './engine.ts'

const retryMs = 100

export class Standstill {
  readonly #docker: Docker.Container
  #held: PromiseWithResolvers<void> | undefined

  constructor(docker: Docker.Container) {
    this.#docker = docker
  }

  /** Whether it stands still, or is about to. */
  get isHeld(): boolean {
    return this.#held !== undefined
  }

  /**
   * Stops the container.
   * @param patienceMs after which one that does not stop is given up
   * @returns lets it go on, may be called twice; undefined for one that cannot be stopped
   * @throws EnvironmentFault
   */
  async hold(patienceMs: number): Promise<(() => Promise<void>) | undefined> {
    while (this.#held !== undefined) await this.#held.promise
    const mine = Promise.withResolvers<void>()
    this.#held = mine
    const goOn = async () => {
      if (this.#held !== mine) return
      try {
        await this.#resume()
      } finally {
        this.abandon()
      }
    }
    try {
      if (await this.#pause(patienceMs)) return goOn
    } catch (error) {
      await goOn()
      throw error
    }
    await goOn()
    return undefined
  }

  /** Forgets a container that goes: who waits for it is let go on. */
  abandon(): void {
    this.#held?.resolve()
    this.#held = undefined
  }

  async #pause(patienceMs: number): Promise<boolean> {
    const until = Date.now() + patienceMs
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

  /** One that is gone is noticed by its next command. */
  async #resume(): Promise<void> {
    try {
      await this.#docker.unpause()
    } catch (error) {
      if (!isGone(error) && statusOf(error) !== 500)
        throw engineFault(error, `resuming container ${this.#docker.id}`)
    }
  }
}
