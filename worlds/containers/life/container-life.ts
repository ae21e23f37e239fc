/**
 * The life of one container: whether it may be used, and whose doing it was that it ended.
 *
 * Invariants
 * - It ends once: the first reason is kept.
 * - [CONTAINER-LIFE-1] Its files are gone when it has ended, even if no one releases it: its removal is tried again where
 *   the engine refuses, as it does while the container is stopped to be counted.
 * - An end by the agent's doing is an answer; another's failure, a lost lease and a release are faults.
 * - The agent is blamed only where the engine reports that the container died and was not killed
 *   from outside; where the cause is unknown, it is an infrastructure failure.
 */

import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type Docker from 'dockerode'
import { z } from 'zod'
import { type Engine, engineFault, isGone, statusOf } from '../engine.ts'
import { ContainerFault } from '../fault.ts'
import { linesOf } from '../images.ts'
import type { ContainerEnded, ExecResult } from '../sandbox.ts'
import type { ShellLink } from '../shell/shell-link.ts'
import { interruptSignal } from '../shell/shell-script.ts'

export interface LifeParts {
  readonly engine: Engine
  readonly id: string
  /** When it was made, in milliseconds. */
  readonly made: number
  readonly docker: Docker.Container
  readonly shell: ShellLink
  /** Whether its lease expired. */
  readonly isLost: () => boolean
}

export class ContainerLife {
  readonly #parts: LifeParts
  #ended: ContainerEnded | undefined
  /** Why it was ended, where that was another's failure. */
  #fault: unknown
  #removal: Promise<boolean> | undefined
  #released = false

  constructor(parts: LifeParts) {
    this.#parts = parts
  }

  get ended(): ContainerEnded | undefined {
    return this.#ended
  }

  get alive(): boolean {
    return this.#ended === undefined && !this.#released && !this.#parts.shell.closed && !this.#parts.isLost()
  }

  /** A command's result, with the end that it met. */
  withEnding(result: ExecResult): ExecResult {
    return this.#ended === undefined ? result : { ...result, ended: this.#ended }
  }

  /** Ends the container for what the agent did. */
  end(why: ContainerEnded): void {
    this.#ended ??= why
    this.#close()
  }

  /** Ends the container for another's failure. */
  fail(fault: unknown): void {
    this.#fault ??= fault
    this.#close()
  }

  /** From here on it is no one's to use. */
  leave(): void {
    this.#released = true
  }

  /** Removes it, also where that has begun and failed. */
  async remove(): Promise<void> {
    const { docker } = this.#parts
    await (this.#removal?.catch(() => remove(docker)) ?? remove(docker))
  }

  /** @throws ContainerFault where it is not there to be used, by no doing of the agent's */
  requireUsable(): void {
    const { id, isLost } = this.#parts
    if (this.#released) throw new ContainerFault('session_lost', `container ${id} was released`)
    if (this.#fault !== undefined) throw engineFault(this.#fault, `watching the disk of container ${id}`)
    if (isLost())
      throw new ContainerFault('session_lost', `the lease of container ${id} expired before it was renewed`)
  }

  /** @throws ContainerFault where it was ended for another's failure */
  requireUnfailed(): void {
    if (this.#ended === undefined && this.#fault !== undefined) this.requireUsable()
  }

  /** After the connection has ended: whose doing it was. @throws ContainerFault */
  async settleEnding(): Promise<void> {
    const { engine, id, made, shell } = this.#parts
    if (this.#ended !== undefined || !shell.closed) return
    this.requireUsable()
    this.#ended = await endingOf(engine, id, made)
  }

  /** Does work with the container. @throws ContainerFault, or the RangeError of a caller's argument */
  async guarded<T>(what: string, work: () => Promise<T>): Promise<T> {
    this.requireUsable()
    try {
      return await work()
    } catch (error) {
      if (error instanceof RangeError) throw error
      throw engineFault(error, `${what} container ${this.#parts.id}`)
    }
  }

  #close(): void {
    // The engine waits with a removal for a reader that is slow.
    this.#parts.shell.close()
    this.#removal ??= removeAtLast(this.#parts.docker)
    // The agent's own slowness is no fault of the command in progress; the release tries once more.
    this.#removal.catch(() => undefined)
  }
}

/** Milliseconds until each further attempt: a container that is stopped is resumed within seconds. */
const removalPausesMs = [500, 1_000, 2_000, 4_000, 8_000]

async function removeAtLast(docker: Docker.Container): Promise<boolean> {
  for (const pauseMs of removalPausesMs) {
    try {
      return await remove(docker)
    } catch {
      // The last attempt tells why.
      await delay(pauseMs, undefined, { ref: false })
    }
  }
  return remove(docker)
}

/**
 * Removes a container with what runs in it and returns when it is gone; one that is gone is no error.
 * @returns whether it was there
 */
export async function remove(docker: Docker.Container): Promise<boolean> {
  try {
    await docker.remove({ force: true, v: true })
    return true
  } catch (error) {
    if (!isGone(error)) throw error
    if (statusOf(error) !== 409) return false
    // Another process may be removing it, and a container that is half removed is still listed.
    await docker.wait({ condition: 'removed' }).catch((late: unknown) => {
      if (!isGone(late)) throw late
    })
    return true
  }
}

const event = z.object({
  Action: z.string(),
  /** Seconds since the epoch. */
  time: z.number(),
  Actor: z.object({ Attributes: z.record(z.string(), z.string()).optional() }).optional(),
})

/** The numbers by which the engine names the interrupt signal, as on Linux. */
const interruptNames = new Set([interruptSignal, 'USR1', '10'])

/** Events have times in whole seconds, and clocks differ. */
const slackSeconds = 5

/** The connection of a container ends a moment before the engine tells of its death. */
const deathWaitSeconds = 5

/** Memory that ran out earlier took a command, and not the container. */
const oomSeconds = 1

/**
 * Asks the engine for the life of a container that has ended.
 * @param since milliseconds since the epoch, when it was made
 * @throws ContainerFault `session_lost` where it did not end by itself, `backend`
 */
export async function endingOf(engine: Engine, id: string, since: number): Promise<ContainerEnded> {
  const events = await lifeOf(engine, id, since)
  const killedFromOutside = events.some(
    ({ Action, Actor }) =>
      Action === 'stop' || (Action === 'kill' && !interruptNames.has(Actor?.Attributes?.signal ?? '')),
  )
  const death = events.find(({ Action }) => Action === 'die')
  if (killedFromOutside || death === undefined)
    throw new ContainerFault('session_lost', `container ${id} was ended from outside of its session`)
  const outOfMemory = events.some(({ Action, time }) => Action === 'oom' && death.time - time <= oomSeconds)
  return outOfMemory ? 'out_of_memory' : 'killed'
}

/** The engine's events of a container, up to its death. */
async function lifeOf(engine: Engine, id: string, since: number): Promise<z.infer<typeof event>[]> {
  try {
    const stream = (await engine.docker.getEvents({
      since: Math.floor(since / 1000) - slackSeconds,
      until: Math.ceil(Date.now() / 1000) + deathWaitSeconds,
      filters: { container: [id] },
    })) as Readable
    const events: z.infer<typeof event>[] = []
    // Leaving the loop ends the connection.
    for await (const line of linesOf(stream)) {
      const next = event.parse(JSON.parse(line))
      events.push(next)
      if (next.Action === 'die') break
    }
    return events
  } catch (cause) {
    throw engineFault(cause, `the events of container ${id}`)
  }
}
