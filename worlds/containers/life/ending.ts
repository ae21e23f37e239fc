/**
 * Why a container ended: by what ran in it, or from outside.
 *
 * Invariants
 * - The agent is blamed only where the engine reports that the container died and was not killed
 *   from outside; where the cause is unknown, it is an infrastructure failure.
 */
import type { Readable } from 'node:stream'
import { z } from 'zod'
import { type Engine, engineFault } from '../engine.ts'
import { ContainerFault } from '../fault.ts'
import { linesOf } from '../images.ts'
import type { ContainerEnded } from '../sandbox.ts'
import { interruptSignal } from '../shell/shell-script.ts'

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
