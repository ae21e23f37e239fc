/**
 * Children activities: the endings of a run's children, from the server.
 *
 * Invariants
 * - Each child is asked for by its id: the server's lists lag behind.
 * - A wait ends by itself after a while, so that no worker is held by a wait whose run is gone.
 */
import { Context } from '@temporalio/activity'
import type { Client } from '@temporalio/client'
import { CancelledFailure, WorkflowNotFoundError } from '@temporalio/common'
import { clock } from '../machine/services/clock.ts'
import { failing } from './calls/failure.ts'

/** A child that has ended. */
export interface EndedChild {
  /** Its workflow id. */
  readonly child: string
  /** In small letters, e.g. `terminated`; `unknown` where the server has none of that id. */
  readonly ending: string
}

export interface Request {
  /** Workflow ids. */
  readonly children: readonly string[]
}

export interface Answer {
  readonly ended: readonly EndedChild[]
}

/** Two looks and a heartbeat that was missed fit into the 15 s within which an ending is to be noticed. */
const lookEveryMs = 4_000
/** A child that completed has reported as well: it is reported with others, which keeps the run's history short. */
const completedAfterMs = 30_000
const longestWaitMs = 30 * 60_000
const askedAtOnce = 16

export type ChildrenActivities = ReturnType<typeof createChildrenActivities>

export function createChildrenActivities() {
  return failing({
    /** Finds the children that have ended by now. */
    async findEnded({ children }: Request): Promise<Answer> {
      return { ended: await endedOf(Context.current().client, children) }
    },

    /** Waits until one of them has ended. @returns those that have; none after a while, or where the worker stops */
    async awaitEnded({ children }: Request): Promise<Answer> {
      const context = Context.current()
      const since = clock.monotonic()
      let firstSeen: number | undefined
      for (;;) {
        const ended = await endedOf(context.client, children)
        const now = clock.monotonic()
        if (ended.length > 0) firstSeen ??= now
        const isUrgent =
          ended.some(({ ending }) => ending !== 'completed') || ended.length === children.length
        const hasWaited = firstSeen !== undefined && now - firstSeen >= completedAfterMs
        if (isUrgent || hasWaited || now - since >= longestWaitMs) return { ended }
        try {
          await context.sleep(lookEveryMs)
        } catch (error) {
          if (!(error instanceof CancelledFailure)) throw error
          return { ended: [] }
        }
      }
    },
  })
}

async function endedOf(client: Client, children: readonly string[]): Promise<readonly EndedChild[]> {
  const waiting = [...children]
  const ended: EndedChild[] = []
  const workOff = async () => {
    for (let child = waiting.shift(); child !== undefined; child = waiting.shift()) {
      const ending = await endingOf(client, child)
      if (ending !== undefined) ended.push({ child, ending })
    }
  }
  await Promise.all(Array.from({ length: askedAtOnce }, workOff))
  return ended
}

/** How a child ended; undefined while it runs. @param child its workflow id */
export async function endingOf(client: Client, child: string): Promise<string | undefined> {
  try {
    const { status } = await client.workflow.getHandle(child).describe()
    return status.name === 'RUNNING' || status.name === 'PAUSED' ? undefined : status.name.toLowerCase()
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'unknown'
    throw error
  }
}
