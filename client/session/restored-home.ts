/**
 * Homes whose parts differ in time or key: after a power cut, or where a backup of one file was put back.
 *
 * Invariants
 * - [RESTORED-1] Workflows whose payloads cannot be read are refused before any worker takes work it could only fail.
 * - [RESTORED-2] A workflow that has published a version which the store lacks is ended before any worker takes its work, whatever
 *   status the store gives its run; a run in progress continues from the store at once, where the same work is done again.
 * - [RESTORED-3] A workflow that has published less than the store is ended when its run is resumed, and the run continues from
 *   the store, where all that it would do again is done.
 * - Work of other kinds that the store lacks is found by the workflow itself (`workflows/run/stored-restart.ts`).
 */
import { Client, Connection } from '@temporalio/client'
import type { Payload } from '@temporalio/common'
import { discardCheckpoints } from '../../activities/stored/retention.ts'
import { storedCourse } from '../../activities/stored/stored-course.ts'
import { searchAttributes } from '../../contract/messages.ts'
import { reasonOf } from '../../faults/reason.ts'
import { type RunId, workflowIdOf } from '../../identity/identity.ts'
import { grpcDeadline } from '../../machine/services/clock.ts'
import type { StoredRun } from '../../storage/records/runs.ts'
import { describedExecution, startPayloads } from '../../temporal/histories.ts'
import {
  type KeyRing,
  keyRing,
  keysVariable,
  PayloadFault,
  payloadCodec,
  requiredKey,
  unread,
} from '../../temporal/payload-encryption.ts'
import { reaching } from '../../temporal/server/fault.ts'
import { inParallel } from '../../workers/deployment/restart.ts'
import type { SessionParts } from '../run/run-calls.ts'
import type { RunLaunch } from '../run/run-start.ts'
import type { SessionHome } from '../run/session-home.ts'

const lookDeadlineMs = 10_000

/** Runs whose workflows and store are of different times, each with a sentence that says so. */
export interface RestoredRuns {
  /** The store has more. */
  readonly older: Map<RunId, string>
  /** The workflows have more. */
  readonly newer: ReadonlyMap<StoredRun, string>
}

export const noneRestored: RestoredRuns = { older: new Map(), newer: new Map() }

/**
 * Looks at every run with a workflow in progress, before anything is done for it.
 * @throws PayloadFault which key is missing or wrong, and where it is given; TemporalFault `unreachable`
 */
export async function findRestoredRuns({
  store,
  server,
  homeName,
}: Pick<SessionHome, 'store' | 'server' | 'homeName'>): Promise<RestoredRuns> {
  const runs = await store.runs.list()
  if (runs.length === 0) return noneRestored
  const older = new Map<RunId, string>()
  const newer = new Map<StoredRun, string>()
  const ring = keyRing()

  async function look(client: Client, run: StoredRun): Promise<void> {
    const workflowId = workflowIdOf(homeName, run.id)
    const execution = await describedExecution(client, workflowId)
    if (execution?.status.name !== 'RUNNING') return
    await requireKey(run.id, await startPayloads(client, workflowId), ring)
    const published = execution.typedSearchAttributes.get(searchAttributes.version)
    if (published === undefined) return
    const has = run.version === undefined ? 'no version' : `version ${run.version}`
    const both = `they have published version ${published} of run ${run.id}, it has ${has}`
    if (published > (run.version ?? -1)) newer.set(run, `the store is older than the workflows: ${both}`)
    // A process that was killed may not have come to publish the last one there.
    else if (published < (run.version ?? 0) - 1)
      older.set(
        run.id,
        `the workflows are older than the store: ${both}; the run continues from what the store holds`,
      )
  }

  const connection = Connection.lazy(server.options)
  try {
    const client = new Client({ connection, namespace: server.namespace, dataConverter: unread })
    await reaching(server, () =>
      connection.withDeadline(grpcDeadline(lookDeadlineMs), () =>
        inParallel(runs, (run) => look(client, run)),
      ),
    )
  } finally {
    await connection.close()
  }
  return { older, newer }
}

/**
 * Ends the workflows that know more than the store. Runs in progress continue from the store; others wait to be resumed.
 * @throws StorageFault, CheckpointFault; TemporalFault `unreachable`
 */
export async function continueFromStore(
  { home, store, handleOf, log }: Pick<SessionParts, 'home' | 'store' | 'handleOf' | 'log'>,
  { newer }: Pick<RestoredRuns, 'newer'>,
  { relaunch }: Pick<RunLaunch, 'relaunch'>,
): Promise<void> {
  for (const [{ id, status }, reason] of newer) {
    const course = await storedCourse(store, id)
    if (course !== undefined) await discardCheckpoints(home, store, course)
    if (status === 'running') {
      log(`${reason}; the run continues from what the store holds`)
      await relaunch(id, { reason, paused: false })
    } else {
      log(
        `${reason}; the workflows are ended, and \`perdure resume ${id}\` continues from what the store holds`,
      )
      await handleOf(id).terminate(reason)
    }
  }
}

async function requireKey(
  run: RunId,
  payloads: readonly Payload[],
  ring: KeyRing | undefined,
): Promise<void> {
  const key = payloads.map(requiredKey).find((each) => each !== undefined)
  if (key === undefined) return
  try {
    if (ring === undefined)
      throw new PayloadFault('unknown_key', `it is encrypted with the key "${key}", and no keys are set`)
    await payloadCodec(ring).decode([...payloads])
  } catch (error) {
    if (!(error instanceof PayloadFault)) throw error
    throw new PayloadFault(
      error.kind,
      `run ${run} cannot be read: ${reasonOf(error)}; set ${keysVariable} with the key that it was started with`,
      { cause: error },
    )
  }
}
