/**
 * Calls to the server that a person waits for: none waits for ever, and none for a server that has fallen silent.
 */
import type { Client, WorkflowExecutionDescription } from '@temporalio/client'
import { clock, grpcDeadline } from '../machine/services/clock.ts'
import type { TemporalConnection } from './connection.ts'
import { describedExecution } from './histories.ts'
import { reaching } from './server/fault.ts'

/** Longer than a busy worker needs to answer; after it no worker is there. */
export const answerDeadlineMs = 15_000

const silenceLookMs = 500

export interface ServerCalls {
  /** Asks a run. @throws what `isDeadline` knows, where it has no worker or the server does not answer */
  ask<T>(question: () => Promise<T>): Promise<T>
  /** @returns undefined where there is no such workflow. @throws TemporalFault `unreachable` */
  describe(workflowId: string): Promise<WorkflowExecutionDescription | undefined>
}

export function createServerCalls(
  client: Client,
  { address, silence }: Pick<TemporalConnection, 'address' | 'silence'>,
): ServerCalls {
  async function ask<T>(question: () => Promise<T>): Promise<T> {
    const silent = new AbortController()
    const look = () => {
      if (silence() !== undefined) silent.abort()
    }
    const looking = clock.every(silenceLookMs, look)
    try {
      return await client.withAbortSignal(silent.signal, () =>
        client.withDeadline(grpcDeadline(answerDeadlineMs), question),
      )
    } finally {
      looking.cancel()
    }
  }

  return {
    ask,
    describe: (workflowId) =>
      reaching({ address, silence }, () => ask(() => describedExecution(client, workflowId))),
  }
}
