/**
 * Flushed calls: a client's calls that change something on the server, with the disk kept in step.
 *
 * Invariants
 * - [FLUSHED-CALLS-1] A call is sent once all that precedes it in the store is on the disk, and returns once the server's change is
 *   on the disk.
 */
import type { WorkflowClientInterceptor } from '@temporalio/client'
import type { Store } from '../../storage/store.ts'
import type { TemporalConnection } from '../../temporal/connection.ts'

export function flushedCalls(
  store: Pick<Store, 'flushed'>,
  server: Pick<TemporalConnection, 'flushed'>,
): WorkflowClientInterceptor {
  async function around<Input, Answer>(
    input: Input,
    next: (input: Input) => Promise<Answer>,
  ): Promise<Answer> {
    await store.flushed()
    const answer = await next(input)
    await server.flushed()
    return answer
  }
  return {
    startWithDetails: around,
    signal: around,
    signalWithStart: around,
    startUpdate: around,
    startUpdateWithStart: around,
    terminate: around,
    cancel: around,
  }
}
