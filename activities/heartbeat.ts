/**
 * Heartbeats: how the server notices within seconds that the worker of an activity is gone.
 *
 * Invariants
 * - An activity in progress is reported alive every few seconds, whatever it waits for, until it ends.
 * - What an activity last told of its progress stays to be seen.
 */
import { Context } from '@temporalio/activity'
import { type Activities, wrapEach } from './wrapping.ts'

/** Several beats fit into the shortest heartbeat timeout, so that one late beat is not taken for death. */
const everyMs = 2_500

const lastDetails = new WeakMap<Context, unknown>()

/** Tells how far the activity in progress has come. */
export function tellProgress(details: unknown): void {
  const context = Context.current()
  lastDetails.set(context, details)
  context.heartbeat(details)
}

/** The same activities, which beat while they are in progress. */
export function heartbeating<A extends Activities>(activities: A): A {
  return wrapEach(activities, async (call) => {
    const context = Context.current()
    const timer = setInterval(() => context.heartbeat(lastDetails.get(context)), everyMs)
    try {
      return await call()
    } finally {
      clearInterval(timer)
    }
  })
}
