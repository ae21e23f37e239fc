/**
 * Wrapping: the same rule around every activity of a set.
 *
 * Invariants
 * - Names and types of the activities stay as they are.
 * - With heartbeats an activity in progress is reported alive every few seconds, whatever it waits for, until it ends; each
 *   heartbeat repeats the last progress that it reported.
 */
import { Context } from '@temporalio/activity'
import { clock } from '../../machine/services/clock.ts'

/** Activities by name, each with one argument object. */
export type Activities = Readonly<Record<string, (argument: never) => Promise<unknown>>>

/** The same activities, each called by `around`, which decides what happens before and after. */
export function wrapEach<A extends Activities>(
  activities: A,
  around: (call: () => Promise<unknown>, name: string, argument: unknown) => Promise<unknown>,
): A {
  const wrapped = Object.entries(activities).map(([name, activity]) => [
    name,
    (argument: never) => around(() => activity(argument), name, argument),
  ])
  return Object.fromEntries(wrapped) as A
}

/** Several beats fit into the shortest heartbeat timeout, so that one late beat is not taken for death. */
const everyMs = 2_500

const lastDetails = new WeakMap<Context, unknown>()

/** Reports the progress of the activity in progress. */
export function reportProgress(details: unknown): void {
  const context = Context.current()
  lastDetails.set(context, details)
  context.heartbeat(details)
}

/** The same activities, with heartbeats while they are in progress. */
export function heartbeating<A extends Activities>(activities: A): A {
  return wrapEach(activities, async (call) => {
    const context = Context.current()
    const timer = clock.every(everyMs, () => context.heartbeat(lastDetails.get(context)))
    try {
      return await call()
    } finally {
      timer.cancel()
    }
  })
}
