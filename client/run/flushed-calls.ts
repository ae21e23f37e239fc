/**
 * Flushed calls: a client's calls that change something on the server, with the disk kept in step.
 *
 * Invariants
 * - [FLUSHED-CALLS-1] The server hears of nothing that a power cut could still take from the store, and what it has accepted is on the disk
 *   when the call returns.
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
