/**
 * Calls to the workflows of runs, over a connection of the session's own.
 *
 * Invariants
 * - A call waits through an outage of the server, unless it has a deadline.
 * - [FOLLOWED-1] Who waits for a result gets that of the execution which took the place of the first.
 * - A call that still waits when the connection is closed ends first.
 * - [FLUSHED-CALLS-1] A call is sent once all that precedes it in the store is on the disk, and returns once the server's change is
 *   on the disk.
 */
import {
  Client,
  Connection,
  type WorkflowClientInterceptor,
  type WorkflowExecutionDescription,
  WorkflowFailedError,
  type WorkflowHandle,
} from '@temporalio/client'
import { TerminatedFailure, type Workflow, type WorkflowResultType } from '@temporalio/common'
import { runId, workflowIdOf } from '../../identity/identity.ts'
import type { Store } from '../../storage/store.ts'
import type { TemporalConnection } from '../../temporal/connection.ts'
import { createOutageWait } from '../../temporal/outage.ts'
import { dataConverter, unread } from '../../temporal/payload-encryption.ts'
import { createServerCalls, type ServerCalls } from '../../temporal/server-calls.ts'
import type { trainingRun } from '../../workflows/run/training-run.ts'
import type { GoodVersion } from './good-version.ts'
import { SessionFault } from './session-fault.ts'
import type { SessionHome } from './session-home.ts'
import type { StoredRuns } from './stored-runs.ts'

export interface RunCalls extends AsyncDisposable {
  readonly client: Client
  readonly ask: ServerCalls['ask']
  handleOf(run: string): WorkflowHandle<typeof trainingRun>
  /** The run's execution; undefined where it has none. @throws TemporalFault `unreachable` */
  describe(run: string): Promise<WorkflowExecutionDescription | undefined>
}

/** Dependencies of the parts of a training session. */
export interface SessionParts extends Omit<SessionHome & RunCalls, typeof Symbol.asyncDispose>, StoredRuns {
  readonly goodVersion: GoodVersion
  readonly log: (line: string) => void
  /** Who gives orders. */
  readonly by: string
}

export function openRunCalls({ server, store, homeName }: SessionHome): RunCalls {
  const wait = createOutageWait()
  // The server has just answered: where it goes away from now on, calls wait for it, and none fails at connecting.
  const connection = Connection.lazy({ ...server.options, interceptors: [...wait.interceptors] })
  const converter = dataConverter()
  const common = { connection, namespace: server.namespace }
  const client = new Client({
    ...common,
    interceptors: { workflow: [flushedCalls(store, server)] },
    ...(converter === undefined ? {} : { dataConverter: converter }),
  })
  // A description is not encrypted and needs no key.
  const { ask, describe } = createServerCalls(new Client({ ...common, dataConverter: unread }), server)
  const workflowIdOfRun = (run: string) => workflowIdOf(homeName, runId(run))
  return {
    client,
    ask,
    handleOf: (run) => client.workflow.getHandle<typeof trainingRun>(workflowIdOfRun(run)),
    describe: (run) => describe(workflowIdOfRun(run)),
    async [Symbol.asyncDispose]() {
      wait.end()
      await connection.close()
    },
  }
}

/**
 * The result of work that is played for a run, also where its execution was given up for a new one.
 * @param what it is, as a person knows it
 * @throws SessionFault `no_result`
 */
export async function resultOf<T extends Workflow>(
  what: string,
  handle: FollowedWorkflow<T>,
): Promise<WorkflowResultType<T>> {
  try {
    return await throughRestarts(handle)
  } catch (error) {
    if (!(error instanceof WorkflowFailedError)) throw error
    const message = `${what} ended without a result: ${firstReasonOf(error)}; ask for it again: finished episodes are not played again`
    throw new SessionFault('no_result', message, { cause: error })
  }
}

/** The parts of a handle by which its workflow is followed. */
type FollowedWorkflow<T extends Workflow> = Pick<WorkflowHandle<T>, 'result' | 'describe'>

/** The result of a workflow, also where its execution was given up for a new one: that is not the end. */
export async function throughRestarts<T extends Workflow>(
  handle: FollowedWorkflow<T>,
): Promise<WorkflowResultType<T>> {
  for (;;) {
    try {
      return await handle.result()
    } catch (error) {
      const isTerminated = error instanceof WorkflowFailedError && error.cause instanceof TerminatedFailure
      if (!isTerminated || (await handle.describe()).status.name === 'TERMINATED') throw error
    }
  }
}

/** The innermost cause. */
export function firstReasonOf(error: Error): string {
  return error.cause instanceof Error ? firstReasonOf(error.cause) : error.message
}

/** Flushed calls: a client's calls that change something on the server, with the disk kept in step. */
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
