/**
 * Flushed activities: between the end of an activity's work and its report to Temporal, the store is flushed.
 *
 * Invariants
 * - [FLUSHED-1] An activity reports after everything that it stored is on the disk: after a power cut the store has whatever a
 *   workflow has heard of. Activities that end at the same time share one flush.
 * - One whose work cannot be flushed fails with the fault of the store.
 */
import type { ActivityInterceptorsFactory } from '@temporalio/worker'
import { failureOf } from '../activities/calls/failure.ts'
import type { Store } from '../storage/store.ts'

export function flushedActivities(store: Pick<Store, 'flushed'>): ActivityInterceptorsFactory {
  return () => ({
    inbound: {
      async execute(input, next) {
        const result = await next(input)
        try {
          await store.flushed()
        } catch (error) {
          throw failureOf(error)
        }
        return result
      },
    },
  })
}
